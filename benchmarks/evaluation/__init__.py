"""The comparison of methods on tasks: who chooses, how it is judged, what is reported.

``benchmarks.evaluation.load(DIR)`` reads back what an evaluation has written.
"""

from benchmarks.evaluation.results import load

__all__ = ["load"]
