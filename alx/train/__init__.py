"""Training: simulated experiments, what is minimised, the step and the run on disk."""
