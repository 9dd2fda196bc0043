"""Points that fill the unit cube evenly, in any number, from a formula: no tables, no random numbers."""

import functools

import numpy as np

__all__ = ["lattice", "steps"]


@functools.cache
def steps(dim: int) -> np.ndarray:
    """The step ``[D]`` of the Kronecker lattice: powers of the root of z^(dim+1) = z + 1, the golden ratio's
    kin.
    """
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (dim + 1))
    return root ** -np.arange(1.0, dim + 1)


def lattice(n: int, dim: int) -> np.ndarray:
    """``n`` points of the Kronecker lattice ``[n, dim]``; the first ones alone are spread evenly as well."""
    return ((0.5 + np.arange(1, n + 1)[:, None] * steps(dim)) % 1).astype(np.float32)
