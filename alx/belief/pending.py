"""Points that were asked for and are not measured yet: their places are taken, and their outputs unknown.

To the belief a pending point is a row of the factor and nothing else: it is no part of the evidence, the
signal variance or the sums of outputs, and whatever is written as its output changes nothing. `alx.propose`
and `alx.learner.compiled` apply it; that no point is asked for twice is up to `alx.learner.ask`.
"""

import jax
import jax.numpy as jnp
from jax import Array

from alx.belief.belief import believe, new_row
from alx.belief.mixture import Mixture, cross_covariance, likely, mean_and_variance
from alx.history import History

__all__ = ["expect", "imputed", "with_pending"]


def expect(mixture: Mixture, x: Array, wanted: Array | bool = True) -> Mixture:
    """With a pending point ``x [D]``: its place is taken, and no output is known. Nothing unless `wanted`."""
    cross = cross_covariance(mixture, x[None])[..., 0]
    row = jnp.argmin(mixture.mask)
    new, _ = new_row(mixture.whitening, cross, mixture.noise, row)
    wanted = wanted & ~mixture.mask.all()
    return mixture._replace(
        x=mixture.x.at[row].set(jnp.where(wanted, x, mixture.x[row])),
        mask=mixture.mask.at[row].set(mixture.mask[row] | wanted),
        whitening=mixture.whitening.at[:, row].set(jnp.where(wanted, new, mixture.whitening[:, row])),
    )


def with_pending(mixture: Mixture, x: Array, pending: Array) -> Mixture:
    """With those of the points ``x [m, D]`` that are pending ``[m]``."""
    return jax.lax.scan(lambda m, row: (expect(m, *row), None), mixture, (x, pending))[0]


def imputed(history: History) -> Array:
    """The outputs ``[N]``, and where a point is pending what is expected there."""
    mean, _ = mean_and_variance(likely(believe(history)), history.x)
    return jnp.where(jnp.asarray(history.pending), mean, history.y)
