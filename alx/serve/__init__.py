"""Ask and tell over HTTP, for benches that do not speak Python, with a page to watch."""
