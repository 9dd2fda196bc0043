"""Ask and tell in the user's own units."""

from alx.learner.learner import Learner

__all__ = ["Learner"]
