"""What could betray a user overnight, tried many times."""
