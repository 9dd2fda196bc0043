"""Studies: one question per file, in its first line."""
