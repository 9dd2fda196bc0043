"""The networks: points so far -> the next input, or the worth of a place."""
