"""Functions that no kernel draws, so that the general policy meets in training what users bring.

    f(x) = sum_j v_j exp(-1/2 sum_d (x_d - c_jd)^2 / s_jd^2) + sum_t w_t prod_k g_tk(a_tk . z + b_tk)
           + sum_p u_p prod_d P_{m_pd}(z_d)

with z = 2 x - 1 and Legendre's polynomials P_m. Bumps stand in an otherwise flat or smooth landscape; ridges
are products of a few shapes of linear combinations of some of the inputs. A function has bumps, ridges or
both, or is a polynomial, and is standardised over a sample of the domain. As everywhere in training,
experiments are on the trailing axis.
"""

import functools
import itertools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

__all__ = ["Form", "draw_form", "evaluate", "standardise"]

BUMPS, TERMS, FACTORS = 8, 4, 2
WIDTH = (0.05, 0.4)  # of bumps at D = 2; wider by the root of D / 2, as distances are
SLOPE = (0.5, 5.0)  # of ridges: how much their argument changes from the middle to the border
KEPT = 0.75  # share of inputs that a ridge depends on
SHAPES = (
    jnp.sin,
    jnp.tanh,
    lambda u: jnp.exp(-jnp.square(u) / 2),
    lambda u: jnp.exp(jnp.clip(u / 2, -4, 3)),
    jnp.square,
    lambda u: u,
    jnp.ones_like,
)
MONOMIALS, DEGREE = 48, 4  # of polynomials, and their total degree
DECAY = (0.4, 1.0)  # of their coefficients with the degree
BUMPS_ONLY, BOTH, RIDGES_ONLY = 0.3, 0.15, 0.3  # shares; the others are polynomials
SMALLEST_SPREAD = 1e-3  # of a function before it is standardised, so that nothing is divided by zero


class Form(NamedTuple):
    """Functions, one for each experiment.

    Attributes:
        heights: of the bumps ``[J, B]``, 0 where there is none.
        centres: ``[J, D, B]``.
        rates: 1 / s of the bumps ``[J, D, B]``.
        weights: of the ridges ``[T, B]``, 0 where there is none.
        slopes: ``[T, K, D, B]``.
        offsets: ``[T, K, B]``.
        shapes: which of SHAPES ``[T, K, B]``.
        coefficients: of the polynomial ``[P, B]``, 0 where there is none.
        degrees: of each of its terms in each input ``[P, D, B]``.
        mean: of the function as written above ``[B]``.
        spread: its standard deviation ``[B]``.
    """

    heights: Array
    centres: Array
    rates: Array
    weights: Array
    slopes: Array
    offsets: Array
    shapes: Array
    coefficients: Array
    degrees: Array
    mean: Array
    spread: Array


def draw_form(key: Array, dim: int, batch: int) -> Form:
    """One function for each experiment."""
    keys = iter(jax.random.split(key, 16))

    def log_uniform(low: float, high: float, shape: tuple[int, ...]) -> Array:
        return low * (high / low) ** jax.random.uniform(next(keys), shape)

    kind = jax.random.uniform(next(keys), (batch,))
    number = jax.random.randint(next(keys), (batch,), 1, BUMPS + 1)
    there = (jnp.arange(BUMPS)[:, None] < number) & (kind < BUMPS_ONLY + BOTH)
    polynomial = kind >= BUMPS_ONLY + BOTH + RIDGES_ONLY
    ridged = jnp.where((kind < BUMPS_ONLY) | polynomial, 0.0, 1.0)
    coefficients, degrees = _draw_polynomial(next(keys), dim, batch)
    width = log_uniform(*WIDTH, (BUMPS, 1, batch)) * math.sqrt(dim / 2)
    lopsided = jnp.exp(0.3 * jax.random.normal(next(keys), (BUMPS, dim, batch)))
    linear = (TERMS, FACTORS, dim, batch)
    kept = jax.random.uniform(next(keys), linear) < KEPT
    steep = log_uniform(*SLOPE, (TERMS, FACTORS, 1, batch))
    return Form(
        heights=jnp.where(there, jax.random.normal(next(keys), there.shape), 0.0),
        centres=jax.random.uniform(next(keys), (BUMPS, dim, batch)),
        rates=lopsided / width,
        weights=ridged * jax.random.normal(next(keys), (TERMS, batch)),
        slopes=jnp.where(kept, jax.random.normal(next(keys), linear) * steep, 0.0),
        offsets=jax.random.uniform(next(keys), (TERMS, FACTORS, batch), minval=-math.pi, maxval=math.pi),
        shapes=jax.random.randint(next(keys), (TERMS, FACTORS, batch), 0, len(SHAPES)),
        coefficients=jnp.where(polynomial, coefficients, 0.0),
        degrees=degrees,
        mean=jnp.zeros(batch),
        spread=jnp.ones(batch),
    )


def _draw_polynomial(key: Array, dim: int, batch: int) -> tuple[Array, Array]:
    """Coefficients ``[P, B]`` and degrees ``[P, D, B]`` of random monomials, each as likely as any other."""
    which, values, own = jax.random.split(key, 3)
    every = jnp.asarray(_monomials(dim))
    degrees = every[jax.random.randint(which, (MONOMIALS, batch), 0, len(every))]
    decay = jax.random.uniform(own, (batch,), minval=DECAY[0], maxval=DECAY[1])
    coefficients = jax.random.normal(values, (MONOMIALS, batch)) * decay ** degrees.sum(-1)
    return coefficients, jnp.moveaxis(degrees, -1, 1)


@functools.cache
def _monomials(dim: int) -> np.ndarray:
    """The degrees ``[M, D]`` of all monomials up to the total degree but the constant."""
    inputs = (itertools.combinations_with_replacement(range(dim), g) for g in range(1, DEGREE + 1))
    return np.stack([np.bincount(each, minlength=dim) for each in itertools.chain(*inputs)]).astype(np.int32)


def standardise(form: Form, at: Array) -> Form:
    """With mean zero and variance one over the points ``at [D, n, B]``."""
    values = evaluate(form, at)
    return form._replace(mean=values.mean(0), spread=jnp.maximum(values.std(0), SMALLEST_SPREAD))


def evaluate(form: Form, x: Array) -> Array:
    """f at points ``x [D, n, B]`` -> ``[n, B]``."""
    dims = range(x.shape[0])
    square = sum(jnp.square((x[d] - form.centres[:, None, d]) * form.rates[:, None, d]) for d in dims)
    bumps = (form.heights[:, None] * jnp.exp(-0.5 * jnp.asarray(square))).sum(0)
    inner = sum(form.slopes[:, :, None, d] * (2 * x[d] - 1) for d in dims) + form.offsets[:, :, None]
    outer = _chosen(form.shapes[:, :, None], inner)
    ridges = (form.weights[:, None] * functools.reduce(jnp.multiply, jnp.moveaxis(outer, 1, 0))).sum(0)
    return (bumps + ridges + _polynomial(form, 2 * x - 1) - form.mean) / form.spread


def _polynomial(form: Form, z: Array) -> Array:
    """sum_p u_p prod_d P_{m_pd}(z_d) of ``z [D, n, B]`` by (m + 1) P_{m+1} = (2 m + 1) z P_m - m P_{m-1}."""
    legendre = [jnp.ones_like(z), z]
    for m in range(1, DEGREE):
        legendre.append(((2 * m + 1) * z * legendre[m] - m * legendre[m - 1]) / (m + 1))

    def chosen(d: int) -> Array:
        degree = form.degrees[:, None, d]
        return functools.reduce(jnp.add, (jnp.where(degree == m, p[d], 0.0) for m, p in enumerate(legendre)))

    terms = functools.reduce(jnp.multiply, (chosen(d) for d in range(z.shape[0])))
    return (form.coefficients[:, None] * terms).sum(0)


def _chosen(which: Array, u: Array) -> Array:
    """The chosen shape of each argument; all are computed, for they are cheap and branches are not."""
    every = (jnp.where(which == i, shape(u), 0.0) for i, shape in enumerate(SHAPES))
    return functools.reduce(jnp.add, every)
