"""Gaussian-process algebra on few points, for many experiments at once."""
