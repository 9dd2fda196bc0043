"""The model: the likeliest kernels of the bank, each moved a few steps uphill.

The bank is coarse. That hardly matters where to measure next, but it does for a prediction from many points.
A step is Fisher scoring on log p(y given the kernel), the signal variance s2 integrated out under the prior
1 / s2, plus that of a wide Cauchy prior. With S_p = K^-1 dK / dp, w = K^-1 y and q = y^T w + PRIOR_SQUARE,

    slope_p     = 1/2 (n / q w^T (dK / dp) w - tr S_p)
    curvature   = 1/2 (tr S_p S_r - tr S_p tr S_r / n)

of the evidence. Neither prior holds back a smooth function, whose signal is large and whose noise is small
beside it: that of s2 has no scale, and that of the noise is on its variance in units of the outputs, the
ratio times q / n. So a step costs one factorisation of each kernel and products. Kernels that do not get
better stay where they are, and all of them are weighed by what they have reached.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from alx.belief.bank import JITTER, MEAN, PRIOR_SQUARE
from alx.belief.belief import Belief
from alx.belief.mixture import Mixture, likely
from alx.gp import algebra

__all__ = ["refine"]

KERNELS, STEPS = 8, 12  # with noise four steps are enough; without, the noise has a long way to go
# Of log lengthscales and of the log of the noise variance: where the prior lies, and how wide it is.
CENTRE = (np.log(0.6), np.log(0.02))
WIDTH = (1.2, 2.5)
# Where a kernel is held, with the noise variance over the signal's.
LOWEST, HIGHEST = (np.log(0.02), np.log(1e-8)), (np.log(10.0), np.log(4.0))
LONGEST_STEP = 2.5
DAMPING, LESS, MORE = 0.1, 0.25, 6.0  # of the curvature at first, after a step that helped, and after others


class _Climb(NamedTuple):
    """Kernels on their way: parameters ``[L, P]``, what their evidence and its derivatives are there."""

    at: Array
    value: Array
    slope: Array
    curvature: Array
    whitening: Array
    white: Array


def refine(belief: Belief, points: tuple[Array, Array] | None = None) -> Mixture:
    """The model given a belief: its likeliest kernels with lengthscales and noise fitted more closely.

    Args:
        belief: what is believed.
        points: its inputs ``[N, D]`` and outputs ``[N]`` in double precision, as the model is then: it can
            tell functions without noise from those with a little.
    """
    start, groups = likely(belief, KERNELS), belief.groups
    if points is not None:
        wide = (a.astype(points[1].dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a for a in start)
        start = Mixture(*wide)._replace(x=points[0], y=points[1])
    precise = start.y.dtype == jnp.float64
    number, mask = max(groups) + 1, start.told
    centre, width, low, high = (
        jnp.array([each[0]] * number + [each[1]], start.y.dtype) for each in (CENTRE, WIDTH, LOWEST, HIGHEST)
    )
    low = low if precise else low.at[-1].set(np.log(JITTER))
    # The squared distance of points in the columns of each lengthscale [G, N, N].
    apart = jnp.square(start.x[:, None] - start.x[None])
    square = jnp.stack(
        [apart[..., [c for c, g in enumerate(groups) if g == k]].sum(-1) for k in range(number)]
    )
    both, eye, n = mask[:, None] & mask, jnp.eye(len(mask), dtype=start.y.dtype), jnp.maximum(mask.sum(), 1)

    def evaluate(at: Array) -> _Climb:
        gram, slopes = _gram(at, square, start.rough[:, None, None])
        noise = jnp.exp(at[:, -1])[:, None, None] * eye
        whitening = algebra.whiten(jnp.where(both, gram + noise, eye))
        log_det = -2 * jnp.log(jnp.diagonal(whitening, axis1=1, axis2=2)).sum(1)
        whitening = jnp.where(both, whitening, 0.0)
        white = algebra.times(whitening, start.y)
        q = jnp.square(white).sum(1) + PRIOR_SQUARE
        slopes = jnp.where(both, jnp.concatenate([slopes, noise[:, None]], 1), 0.0)
        inverse = algebra.times(whitening.swapaxes(1, 2), whitening)
        weights = algebra.times(white[:, None], whitening)[:, 0]
        solved = algebra.times(inverse[:, None], slopes)
        trace = jnp.trace(solved, axis1=2, axis2=3)
        pull = jnp.einsum("lpij,li,lj->lp", slopes, weights, weights) / q[:, None]  # of -log q
        off = (at.at[:, -1].add(jnp.log(q / n)) - centre) / width
        rate = 1 / (1 + jnp.square(off))
        push = -2 * off * rate / width
        products = jnp.einsum("lpij,lrji->lpr", solved, solved)
        products = products - trace[:, :, None] * trace[:, None] / n
        return _Climb(
            at,
            -0.5 * (n * jnp.log(q) + log_det) - jnp.log1p(jnp.square(off)).sum(1),
            0.5 * (n * pull - trace) + push - push[:, -1:] * pull,
            0.5 * products + 2 * (rate / jnp.square(width))[:, None] * jnp.eye(number + 1, dtype=rate.dtype),
            whitening,
            white,
        )

    def step(state: tuple[_Climb, Array], _):
        now, damping = state
        own = jnp.trace(now.curvature, axis1=1, axis2=2) / (number + 1)
        damped = now.curvature + (damping * own)[:, None, None] * jnp.eye(number + 1, dtype=own.dtype)
        move = algebra.solve(jnp.moveaxis(damped, 0, -1), now.slope.T)[0].T
        move = move * jnp.minimum(1, LONGEST_STEP / jnp.maximum(jnp.abs(move).max(1, keepdims=True), 1e-9))
        then = evaluate(jnp.clip(now.at + move, low, high))
        better = then.value > now.value
        kept = jax.tree.map(lambda a, b: jnp.where(better.reshape(-1, *[1] * (a.ndim - 1)), a, b), then, now)
        return (kept, damping * jnp.where(better, LESS, MORE)), None

    first = jnp.array([groups.index(k) for k in range(number)])
    at = jnp.concatenate([-jnp.log(start.inverse_scale[:, first]), jnp.log(start.noise)[:, None]], 1)
    begin = evaluate(at.astype(start.y.dtype))
    (end, _), _ = jax.lax.scan(step, (begin, jnp.full_like(begin.value, DAMPING)), None, length=STEPS)
    return start._replace(
        inverse_scale=jnp.exp(-end.at[:, :-1])[:, jnp.array(groups)],
        noise=jnp.exp(end.at[:, -1]),
        signal=(jnp.square(end.white).sum(1) + PRIOR_SQUARE) / n,
        weight=jax.nn.softmax(end.value),
        log_weight=jax.nn.log_softmax(end.value),
        whitening=end.whitening,
        white=end.white,
    )


def _gram(at: Array, square: Array, rough: Array) -> tuple[Array, Array]:
    """K without noise ``[L, N, N]`` and its slopes in the log lengthscales ``[L, G, N, N]``."""
    parts = square * jnp.exp(-2 * at[:, :-1])[:, :, None, None]
    total = parts.sum(1)
    r = jnp.sqrt(5 * jnp.maximum(total, 1e-12))
    decay = jnp.exp(jnp.where(rough, -r, -0.5 * total))
    gram = decay * jnp.where(rough, 1 + r + jnp.square(r) / 3, 1.0) + MEAN
    # Of RBF k s_g, of Matern 5/2 5/3 (1 + r) exp(-r) s_g, with s_g the scaled square of the columns g.
    return gram, parts * (decay * jnp.where(rough, (5 / 3) * (1 + r), 1.0))[:, None]
