"""What is believed about the function, given the points so far: a mixture of a few likely Gaussian processes.

No fit and no optimiser: a fixed bank of kernels covers what functions on the unit cube are like (`bank`),
the evidence of each is exact (`belief`), and the most likely few stand for the posterior (`mixture`), where
some points may be pending (`pending`). What they say of a place is what the policy judges it by (`places`).
For predictions the kernels are refined (`refine`, `predict`). The cost is fixed, and all of it is a pure
function of the points, in any order.
"""

from alx.belief.bank import LIKELY, MEAN, PRIOR_SQUARE, Bank, bank
from alx.belief.belief import Belief, add, believe, empty, evidence, with_outputs
from alx.belief.mixture import Mixture, covariance, likely, mean_and_variance, moments
from alx.belief.pending import expect, imputed, with_pending
from alx.belief.refine import refine

__all__ = [
    "LIKELY",
    "MEAN",
    "PRIOR_SQUARE",
    "Bank",
    "Belief",
    "Mixture",
    "add",
    "bank",
    "believe",
    "covariance",
    "empty",
    "evidence",
    "expect",
    "imputed",
    "likely",
    "mean_and_variance",
    "moments",
    "refine",
    "with_outputs",
    "with_pending",
]
