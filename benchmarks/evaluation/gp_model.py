"""The one Gaussian process every method is judged by: ARD RBF, type-II maximum likelihood.

theta = (log v, log l_1 .. log l_D, log s2), k(x,x') = v exp(-1/2 sum_d (x_d-x'_d)^2 / l_d^2), zero mean.
Arrays trail with data sets as in ``alx.network.policy``: ``x [D, n, B]``, ``y [n, B]``, ``theta [D+2, B]``,
and a mask ``[n, B]`` lets one compilation serve all sizes. All of it runs in double precision: with little
noise the Gram matrix has a condition number of 1e8, which float32 cannot invert.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.stats import qmc

from alx.gp import algebra as gp

__all__ = [
    "Posterior",
    "bounds",
    "condition",
    "fit",
    "fit_jitted",
    "fit_many",
    "kernel",
    "log_likelihood",
    "predict",
    "starts",
]

# In units of a unit cube and a standardised output. The noise floor is a standard deviation of 0.001.
VARIANCE, LENGTHSCALE, NOISE = (1e-2, 1e2), (1e-2, 1e1), (1e-6, 1e0)
RESTARTS, FINALISTS = 32, 8
FIRST_STEPS, MAX_STEPS = 12, 120
DECREASE_TOLERANCE = 1e-8  # of the log likelihood, as the quadratic model predicts it
TIE = 1e-6  # log likelihoods this close are equal
BLOCK = 5  # data sets fitted at a time: with their restarts they stay in cache


def bounds(dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of theta ``[D+2]``."""
    box = np.log(np.array([VARIANCE] + [LENGTHSCALE] * dim + [NOISE]))
    return box[:, 0], box[:, 1]


@functools.cache
def starts(dim: int) -> np.ndarray:
    """Where the restarts begin ``[D+2, RESTARTS]``: a middle guess, then a Sobol design of likely values."""
    low = np.log([0.3] + [0.1] * dim + [1e-5])
    high = np.log([3.0] + [3.0] * dim + [0.3])
    design = qmc.scale(qmc.Sobol(dim + 2, rng=0).random(RESTARTS), low, high)
    design[0] = np.log([1.0] + [0.3] * dim + [0.01])
    return design.T


def log_likelihood(theta: Array, square: Array, y: Array, mask: Array) -> tuple[Array, Array]:
    """log p(y given theta) ``[B]`` and its gradient ``[D+2, B]``.

    ``square [D, n, n, B]`` holds the squared differences of the inputs. The gradient is
    1/2 tr((alpha alpha^T - K^-1) dK/dtheta) with alpha = K^-1 y.
    """
    signal = _signal(theta, square) * (mask[:, None] & mask[None])
    noise = jnp.exp(theta[-1])
    inverse, log_det = gp.invert(_add_noise(signal, noise, mask))
    alpha = (inverse * y).sum(1)
    value = -0.5 * ((alpha * y).sum(0) + log_det + mask.sum(0) * np.log(2 * np.pi))
    weight = alpha[:, None] * alpha[None] - inverse
    weighted = weight * signal
    by_lengthscale = jnp.stack([(weighted * s).sum((0, 1)) for s in square]) * jnp.exp(-2 * theta[1:-1])
    by_noise = noise * (jnp.diagonal(weight).T * mask).sum(0)
    gradient = 0.5 * jnp.concatenate([weighted.sum((0, 1))[None], by_lengthscale, by_noise[None]])
    return value, gradient


def fit(x: Array, y: Array, mask: Array) -> tuple[Array, Array]:
    """The theta of highest likelihood ``[D+2, B]`` for each data set, and that log likelihood ``[B]``."""
    y = jnp.where(mask, y, 0)
    square = jnp.square(x[:, :, None] - x[:, None])
    low, high = (jnp.asarray(bound, x.dtype)[:, None] for bound in bounds(x.shape[0]))

    def loss_and_gradient(theta):
        copies = theta.shape[-1] // y.shape[-1]
        data = (jnp.repeat(a, copies, -1) for a in (square, y, mask))
        return jax.tree.map(jnp.negative, log_likelihood(theta, *data))

    first = jnp.tile(jnp.asarray(starts(x.shape[0]), x.dtype), y.shape[-1])
    search = _minimize(loss_and_gradient, _begin(loss_and_gradient, first), low, high, FIRST_STEPS)
    search = _minimize(loss_and_gradient, _finalists(search), low, high, MAX_STEPS)
    search = _winner(search)
    return search.theta, -search.loss


class Posterior(NamedTuple):
    """What prediction needs: theta, the inputs, K^-1 (zero where masked) and alpha = K^-1 y."""

    theta: Array
    x: Array
    inverse: Array
    alpha: Array


def condition(theta: Array, x: Array, y: Array, mask: Array) -> Posterior:
    """The posterior given data under known theta."""
    both = mask[:, None] & mask[None]
    signal = kernel(theta, x, x) * both
    inverse = gp.invert(_add_noise(signal, jnp.exp(theta[-1]), mask))[0] * both
    return Posterior(theta, x, inverse, (inverse * jnp.where(mask, y, 0)).sum(1))


def predict(posterior: Posterior, x: Array) -> tuple[Array, Array]:
    """Posterior mean and variance of f ``[m, B]`` at ``x [D, m, B]``; no observation noise added."""
    theta, train, inverse, alpha = posterior
    cross = kernel(theta, x, train)
    mean = jnp.einsum("mnb,nb->mb", cross, alpha)
    explained = (jnp.einsum("mnb,nkb->mkb", cross, inverse) * cross).sum(1)
    return mean, jnp.maximum(jnp.exp(theta[0]) - explained, 0)


def kernel(theta: Array, a: Array, b: Array) -> Array:
    """k(a, b) ``[m, n, B]`` of inputs ``[D, m, B]`` and ``[D, n, B]``."""
    return _signal(theta, jnp.square(a[:, :, None] - b[:, None]))


def fit_many(x: np.ndarray, y: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``fit`` for any number of data sets on the host: x ``[B, n, D]``, y and mask ``[B, n]``.

    Blocks of one fixed size are fitted in turn, so that a number never depends on how many data sets came
    with it. Returns theta ``[B, D+2]`` and the log likelihoods ``[B]``.
    """
    total = len(y)
    pad = -total % BLOCK
    x, y, mask = (np.concatenate([a, np.repeat(a[:1], pad, 0)]) for a in (x, y, mask))
    thetas, values = [], []
    with jax.enable_x64(True):
        for i in range(0, total, BLOCK):
            block = slice(i, i + BLOCK)
            theta, value = fit_jitted(
                *(jnp.asarray(a[block].T, float) for a in (x, y)), jnp.asarray(mask[block].T)
            )
            thetas.append(np.asarray(theta).T)
            values.append(np.asarray(value))
    return np.concatenate(thetas)[:total], np.concatenate(values)[:total]


# One compiled program for a shape, shared by the fits of GP AL and those of the protocol.
fit_jitted = jax.jit(fit)


def _signal(theta: Array, square: Array) -> Array:
    """The kernel without noise from squared differences ``[D, n, m, B]``."""
    precision = jnp.exp(-2 * theta[1:-1])
    # Written out over the inputs: ten times faster than a sum along an axis, which XLA does not vectorise.
    scaled = sum(s * p for s, p in zip(square, precision, strict=True))
    return jnp.exp(theta[0] - 0.5 * scaled)


def _add_noise(signal: Array, noise: Array, mask: Array) -> Array:
    """K = signal + s2 I; a masked row becomes that of the identity and drops out of K^-1 y and log det K."""
    eye = jnp.eye(len(mask), dtype=signal.dtype)[..., None]
    return signal + eye * jnp.where(mask, noise, 1)[None]


class _Search(NamedTuple):
    """BFGS, one search per lane: the point, its loss and gradient, the inverse Hessian, the step length."""

    theta: Array
    loss: Array
    gradient: Array
    hessian_inverse: Array
    length: Array
    done: Array


def _begin(loss_and_gradient, theta: Array) -> _Search:
    loss, gradient = loss_and_gradient(theta)
    # The first step is one log unit at most.
    scale = 1 / jnp.maximum(jnp.abs(gradient).max(0), 1)
    eye = jnp.eye(len(theta), dtype=theta.dtype)[..., None]
    return _Search(theta, loss, gradient, eye * scale, jnp.ones_like(loss), jnp.zeros(loss.shape, bool))


def _finalists(search: _Search) -> _Search:
    """The best restarts of each data set, and always its middle guess; in the order of the starts."""
    loss = search.loss.reshape(-1, RESTARTS).at[:, 0].set(-jnp.inf)
    return _take(search, RESTARTS, jnp.sort(jax.lax.top_k(-loss, FINALISTS)[1], 1))


def _winner(search: _Search) -> _Search:
    """The best search of each data set; of equals the first, for few points leave the likelihood flat."""
    loss = search.loss.reshape(-1, FINALISTS)
    return _take(search, FINALISTS, jnp.argmax(loss <= loss.min(1, keepdims=True) + TIE, 1)[:, None])


def _take(search: _Search, group: int, chosen: Array) -> _Search:
    """The lanes ``chosen [B, k]`` of every ``group`` neighbouring ones."""
    lanes = (chosen + group * jnp.arange(len(chosen))[:, None]).ravel()
    return jax.tree.map(lambda leaf: leaf[..., lanes], search)


def _minimize(loss_and_gradient, search: _Search, low: Array, high: Array, steps: int) -> _Search:
    """Projected BFGS within a box, until every lane has converged or ``steps`` are made.

    Every step evaluates each lane once: a lane whose trial fails shortens its step while the others move on,
    so no lane waits for another's line search, as it would in a vmapped L-BFGS.
    """
    eye = jnp.eye(len(search.theta), dtype=search.theta.dtype)[..., None]

    def step(s: _Search) -> _Search:
        free = ~(((s.theta <= low) & (s.gradient > 0)) | ((s.theta >= high) & (s.gradient < 0)))
        gradient = jnp.where(free, s.gradient, 0)
        direction = -jnp.where(free, (s.hessian_inverse * gradient).sum(1), 0)
        decrease = -(gradient * direction).sum(0)
        # A step of more than e^2 in a parameter is beyond what the quadratic model can know.
        direction *= jnp.minimum(1, 2 / jnp.maximum(jnp.abs(direction).max(0), 1e-300))
        trial = jnp.clip(s.theta + s.length * direction, low, high)
        loss, new_gradient = loss_and_gradient(trial)
        move = trial - s.theta
        better = loss <= s.loss + 1e-4 * (gradient * move).sum(0)
        hessian_inverse = _bfgs(s.hessian_inverse, move, jnp.where(free, new_gradient - s.gradient, 0))
        take = better & ~s.done
        return _Search(
            jnp.where(take, trial, s.theta),
            jnp.where(take, loss, s.loss),
            jnp.where(take, new_gradient, s.gradient),
            # After several failures the curvature is not to be trusted: start again from steepest descent.
            jnp.where(take, hessian_inverse, jnp.where(s.length < 0.01, eye, s.hessian_inverse)),
            jnp.where(better, 1, s.length * 0.3),
            s.done | (decrease < DECREASE_TOLERANCE) | (s.length < 1e-7),
        )

    def unfinished(state):
        return ~state[0].done.all() & (state[1] < steps)

    return jax.lax.while_loop(unfinished, lambda state: (step(state[0]), state[1] + 1), (search, 0))[0]


def _bfgs(hessian_inverse: Array, move: Array, change: Array) -> Array:
    """The BFGS update of the inverse Hessian ``[P, P, L]``, skipped where the curvature is not positive."""
    curvature = (move * change).sum(0)
    valid = curvature > 1e-10 * jnp.sqrt(jnp.square(move).sum(0) * jnp.square(change).sum(0)) + 1e-300
    rho = 1 / jnp.where(valid, curvature, 1)
    product = (hessian_inverse * change).sum(1)
    factor = rho * (1 + rho * (change * product).sum(0))
    cross = product[:, None] * move[None]
    updated = (
        hessian_inverse + factor * move[:, None] * move[None] - rho * (cross + jnp.swapaxes(cross, 0, 1))
    )
    return jnp.where(valid, updated, hessian_inverse)
