"""What the model predicts that a user fits to a trajectory, theta unknown: for training.

Users fit a stationary RBF kernel by maximum likelihood. Where the data say little, the likelihood has several
maxima, and the highest may be far off: a rough function looks like one of a single input with a lengthscale
below the distance of the points, and the prediction is worthless. Policies have to know that, so the fit is
searched for as widely as a user's is. Guesses spread over all of `LENGTHSCALE` and `NOISE` are followed by
some near those of highest likelihood, and these by the last ones. The prediction is the mean over the last,
weighted by likelihood; gradients flow through that alone.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.stats import qmc

from alx import gp, prior
from alx.posterior import gram
from alx.prior import Prior, Theta
from alx.rollout import Trajectory

__all__ = ["SHARPNESS", "fitted_mean", "model", "search"]

RBF = Prior()
LENGTHSCALE = (0.01, 10.0)
NOISE = (0.03, 2.0)  # its standard deviation over the signal's; float32 can tell no smaller one apart
FIRST, NEAR, LAST = 64, 32, 16  # guesses
SPREADS = (0.08, 0.04)  # of the second and the last guesses around better ones, as a share of the range
SHARPNESS = 2.0  # power of the likelihood: a maximum is sharper than a mean


def fitted_mean(key: Array, trajectory: Trajectory, x: Array) -> Array:
    """What the fit predicts at ``x [D, m, B]`` -> ``[m, B]``."""
    mask = trajectory.mask[:, None]

    def predict(guess: Array) -> tuple[Array, Array]:
        weights, evidence = _fit(guess, trajectory)
        cross = prior.covariance(RBF, model(guess), trajectory.x, x)
        return (jnp.where(mask, cross, 0) * weights[:, None]).sum(0), evidence

    means, evidence = jax.lax.map(predict, search(key, trajectory))
    return (means * jax.nn.softmax(SHARPNESS * evidence, axis=0)[:, None]).sum(0)


def search(key: Array, trajectory: Trajectory) -> Array:
    """Guesses ``[LAST, D + 1, B]``, most of them near the most likely ones; see `model`."""
    seen = trajectory._replace(x=jax.lax.stop_gradient(trajectory.x), y=jax.lax.stop_gradient(trajectory.y))
    dim, _, batch = seen.x.shape
    key_shift, key_near, key_last = jax.random.split(key, 3)
    design = jnp.asarray(qmc.Sobol(dim + 1, rng=0).random(FIRST)[..., None], float)
    first = (design + jax.random.uniform(key_shift, (dim + 1, batch))) % 1
    likely = _evidence(first, seen)
    near = _around(key_near, first, likely, NEAR, SPREADS[0])
    likely = jnp.concatenate([likely, _evidence(near, seen)])
    return _around(key_last, jnp.concatenate([first, near]), likely, LAST, SPREADS[1])


def model(guess: Array) -> Theta:
    """The kernel and noise of a guess ``[D + 1, B]``: the logarithms' places in their ranges, 0 to 1.

    The signal variance is one: only its ratio to the noise matters to what is predicted.
    """
    low, high = (np.log([*LENGTHSCALE[i : i + 1] * (len(guess) - 1), NOISE[i]])[:, None] for i in (0, 1))
    scale = jnp.exp(low + (high - low) * guess)
    zero, zeros = jnp.zeros_like(scale[-1]), jnp.zeros_like(scale[:-1])
    return Theta(
        variance=jnp.ones_like(zero),
        lengthscale=scale[:-1],
        noise=jnp.square(scale[-1]),
        kernel=zero,
        modulated=zero,
        centre=zeros,
        radius=zero,
        warped=zero,
        shape_a=zeros,
        shape_b=zeros,
        frequency=zeros,
    )


def _evidence(guesses: Array, trajectory: Trajectory) -> Array:
    return jax.lax.map(lambda guess: _fit(guess, trajectory)[1], guesses)


def _fit(guess: Array, trajectory: Trajectory) -> tuple[Array, Array]:
    """K^-1 y ``[n, B]``, and the log likelihood ``[B]`` with the signal variance at its best."""
    mask = trajectory.mask
    y = jnp.where(mask, trajectory.y, 0).astype(guess.dtype)
    weights, log_det = gp.solve(gram(RBF, model(guess), trajectory), y)
    return weights, -0.5 * (log_det + mask.sum(0) * jnp.log((y * weights).sum(0) + 1e-9))


def _around(key: Array, guesses: Array, likely: Array, number: int, spread: float) -> Array:
    """New guesses around old ones, each of which has its share by likelihood."""
    key_share, key_move = jax.random.split(key)
    shares = jnp.cumsum(jax.nn.softmax(SHARPNESS * likely, axis=0), axis=0)
    at = (jnp.arange(number)[:, None] + jax.random.uniform(key_share, likely.shape[1:])) / number
    taken = (at[:, None] > shares[:-1]).sum(1)  # systematic resampling
    centres = jnp.take_along_axis(guesses, taken[:, None], axis=0)
    return jnp.clip(centres + spread * jax.random.normal(key_move, centres.shape), 0, 1)
