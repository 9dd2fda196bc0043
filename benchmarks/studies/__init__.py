"""One file for each question that was asked."""
