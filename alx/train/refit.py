"""What the model predicts that a user fits to a trajectory, theta unknown: for training.

Users fit a stationary RBF kernel by maximum likelihood. Where the data say little, the likelihood has several
maxima, and the highest may be far off: a rough function looks like one of a single input with a lengthscale
below the distance of the points, and the prediction is worthless. Policies have to know that, so the fit is
searched for as widely as a user's is. Guesses spread over all of `LENGTHSCALE` and `NOISE`, and some near the
simulation's own theta, where the highest likelihood often is, are followed by others near the most likely of
them, twice, and these by the last ones. The prediction is the mean over the last, weighted by likelihood;
gradients flow through that alone.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.stats import qmc

from alx.gp import algebra as gp
from alx.train import kernels
from alx.train.posterior import gram
from alx.train.prior import Prior, Theta
from alx.train.rollout import Trajectory

__all__ = ["SHARPNESS", "fitted_mean", "model", "search", "theta_to_unit"]

RBF = Prior()
LENGTHSCALE = (0.01, 10.0)
NOISE = (0.03, 2.0)  # its standard deviation over the signal's; float32 can tell no smaller one apart
# Numbers of guesses and their spreads, as a share of the range.
EVERYWHERE = 128
NEAR_TRUTH = (16, 0.1)
NEAR_LIKELY = ((32, 0.08), (32, 0.04))
LAST = (8, 0.01)
SHARPNESS = 3.0  # power of the likelihood: a maximum is sharper than a mean


def fitted_mean(key: Array, theta: Theta, trajectory: Trajectory, x: Array) -> Array:
    """What the fit predicts at ``x [D, m, B]`` -> ``[m, B]``; theta is that of the simulation."""
    mask = trajectory.mask[:, None]

    def predict(guess: Array) -> tuple[Array, Array]:
        weights, evidence = _fit(guess, trajectory)
        cross = kernels.covariance(RBF, model(guess), trajectory.x, x)
        return (jnp.where(mask, cross, 0) * weights[:, None]).sum(0), evidence

    means, evidence = jax.lax.map(predict, search(key, theta, trajectory))
    return (means * jax.nn.softmax(SHARPNESS * evidence, axis=0)[:, None]).sum(0)


def search(key: Array, theta: Theta, trajectory: Trajectory) -> Array:
    """The last guesses ``[LAST, D + 1, B]``, most of them near the most likely one; see `model`."""
    seen = trajectory._replace(x=jax.lax.stop_gradient(trajectory.x), y=jax.lax.stop_gradient(trajectory.y))
    dim, _, batch = seen.x.shape
    key_shift, key_truth, key_last, *keys = jax.random.split(key, 3 + len(NEAR_LIKELY))
    design = jnp.asarray(qmc.Sobol(dim + 1, rng=0).random(EVERYWHERE)[..., None], float)
    everywhere = (design + jax.random.uniform(key_shift, (dim + 1, batch))) % 1
    number, spread = NEAR_TRUTH
    truth = jnp.broadcast_to(theta_to_unit(theta), (number, dim + 1, batch))
    guesses = jnp.concatenate([everywhere, _moved(key_truth, truth, spread)])
    likely = _evidence(guesses, seen)
    for key_near, (number, spread) in zip(keys, NEAR_LIKELY, strict=True):
        new = _around(key_near, guesses, likely, number, spread)
        guesses, likely = jnp.concatenate([guesses, new]), jnp.concatenate([likely, _evidence(new, seen)])
    return _around(key_last, guesses, likely, *LAST)


def model(guess: Array) -> Theta:
    """The kernel and noise of a guess ``[D + 1, B]``: the logarithms' places in their ranges, 0 to 1.

    The signal variance is one: only its ratio to the noise matters to what is predicted.
    """
    low, high = _limits(len(guess) - 1)
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


def theta_to_unit(theta: Theta) -> Array:
    """The guess ``[D + 1, B]`` that is most like a theta; an oscillation shortens the lengthscale."""
    lengthscale = jax.lax.rsqrt(theta.lengthscale**-2 + jnp.square(theta.frequency))
    low, high = _limits(len(lengthscale))
    scale = jnp.concatenate([lengthscale, jnp.sqrt(theta.noise / theta.variance)[None]])
    return jnp.clip((jnp.log(scale) - low) / (high - low), 0, 1)


def _limits(dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of the least and the greatest lengthscales and noise ``[D + 1, 1]``."""
    low, high = (np.log([*[LENGTHSCALE[i]] * dim, NOISE[i]])[:, None] for i in (0, 1))
    return low, high


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
    return _moved(key_move, centres, spread)


def _moved(key: Array, guesses: Array, spread: float) -> Array:
    return jnp.clip(guesses + spread * jax.random.normal(key, guesses.shape), 0, 1)
