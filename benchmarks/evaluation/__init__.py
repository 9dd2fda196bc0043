"""The comparison of methods on tasks: who chooses, how it is judged, what is reported."""
