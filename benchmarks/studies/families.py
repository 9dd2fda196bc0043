"""Families of random functions that no kernel drew, as many as one likes.

Polynomials, compositions of sines, exponentials and the like, and sums of Gaussian bumps are much like what a
handbook of test functions holds. Plateaus and kinks are harder, and kept apart: nothing is ever trained on
them. All are functions of x ``[m, D]`` in the unit cube, written in z = 2 x - 1.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial import legendre

from benchmarks.evaluation.methods import generator
from benchmarks.evaluation.tasks import Function, Task, from_function

__all__ = ["FAMILIES", "UNSEEN", "bumps", "composition", "draw", "kinks", "plateaus", "polynomial"]

DEGREE = 4
TERMS, FACTORS = 3, 2
SHAPES: tuple[Function, ...] = (
    np.sin,
    np.tanh,
    lambda z: np.exp(np.clip(z / 2, -4, 3)),
    np.square,
    lambda z: z,
    lambda z: np.exp(-np.square(z) / 2),
    np.ones_like,
)
KINKS: tuple[Function, ...] = (
    np.abs,
    lambda u: np.maximum(u, 0),
    lambda u: 1 / (1 + np.square(u)),
    lambda u: u / (1 + np.abs(u)),
)


def polynomial(random: np.random.Generator, dim: int) -> Function:
    """A sum of products of Legendre polynomials up to total degree 4, higher ones the smaller."""
    decay = random.uniform(0.4, 1.0)
    every = itertools.product(range(DEGREE + 1), repeat=dim)
    degrees = np.array([each for each in every if 0 < sum(each) <= DEGREE])
    weights = np.array([random.standard_normal() * decay ** sum(each) for each in degrees])

    def truth(x: np.ndarray) -> np.ndarray:
        bases = legendre.legvander(2 * x - 1, DEGREE)  # [m, D, degree]
        # One input at a time: with six of them a table [m, terms, D] would be large.
        return math.prod(bases[:, d, degrees[:, d]] for d in range(dim)) @ weights

    return truth


def composition(random: np.random.Generator, dim: int) -> Function:
    """A sum of three products of two shapes, each of a random linear combination of some inputs."""
    shape = (TERMS, FACTORS)
    size = np.exp(random.uniform(np.log(0.5), np.log(4), (*shape, 1)))
    slopes = random.standard_normal((*shape, dim)) * size * (random.random((*shape, dim)) < 0.75)
    offsets = random.uniform(-np.pi, np.pi, shape)
    shapes = random.integers(0, len(SHAPES), shape)
    weights = random.standard_normal(TERMS)

    def truth(x: np.ndarray) -> np.ndarray:
        inner = np.einsum("tfd,md->tfm", slopes, 2 * x - 1) + offsets[..., None]
        return weights @ _product(SHAPES, shapes, inner)

    return truth


def bumps(random: np.random.Generator, dim: int) -> Function:
    """Three to six Gaussian bumps of either sign, with deviations of 0.07 to 0.25 at D = 2.

    They grow with the square root of D, as distances do: else hardly anybody would meet a bump at D = 6.
    """
    number = random.integers(3, 7)
    centres = random.random((number, dim))
    width = np.exp(random.uniform(np.log(0.07), np.log(0.25), number)) * math.sqrt(dim / 2)
    weights = random.standard_normal(number)

    def truth(x: np.ndarray) -> np.ndarray:
        square = sum(np.square(x[:, d, None] - centres[:, d]) for d in range(dim))  # [m, bumps]
        return np.exp(-0.5 * square / np.square(width)) @ weights

    return truth


def plateaus(random: np.random.Generator, dim: int) -> Function:
    """A sum of three ridges, each flat on either side of a ramp that may be as steep as a step."""
    slopes, offsets = _cuts(random, dim, (TERMS,), 0.04, 0.8)
    weights = random.standard_normal(TERMS)

    def truth(x: np.ndarray) -> np.ndarray:
        return weights @ np.clip(slopes @ (2 * x - 1).T - offsets[:, None], -1, 1)

    return truth


def kinks(random: np.random.Generator, dim: int) -> Function:
    """A sum of three products of two kinks or rational functions of random linear combinations."""
    slopes, offsets = _cuts(random, dim, (TERMS, FACTORS), 0.1, 1.0)
    shapes = random.integers(0, len(KINKS), (TERMS, FACTORS))
    weights = random.standard_normal(TERMS)

    def truth(x: np.ndarray) -> np.ndarray:
        inner = np.einsum("tfd,md->tfm", slopes, 2 * x - 1) - offsets[..., None]
        return weights @ _product(KINKS, shapes, inner)

    return truth


def _cuts(random: np.random.Generator, dim: int, shape: tuple[int, ...], low: float, high: float):
    """Slopes ``[..., D]`` and offsets ``[...]`` of u = (a . z - b) / w, |a| = 1: 0 at a random place, and
    1 a width w, log-uniform, further on in a random direction."""
    direction = random.standard_normal((*shape, dim))
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    width = np.exp(random.uniform(np.log(low), np.log(high), shape))
    slopes = direction / width[..., None]
    return slopes, (slopes * random.uniform(-1, 1, (*shape, dim))).sum(-1)


def _product(functions: Sequence[Function], which: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """The product over factors ``[terms, m]`` of the chosen functions of ``inner [terms, factors, m]``."""
    outer = [[functions[i](u) for i, u in zip(*pair, strict=True)] for pair in zip(which, inner, strict=True)]
    return np.prod(outer, axis=1)


FAMILIES: dict[str, Callable[[np.random.Generator, int], Function]] = {
    "polynomials": polynomial,
    "compositions": composition,
    "bumps": bumps,
    "plateaus": plateaus,
    "kinks": kinks,
}
UNSEEN = ("plateaus", "kinks")  # by any training


def draw(family: str, dim: int, number: int, seed: int) -> list[Task]:
    """So many functions of a family; one that hardly varies is drawn again. More begin with the same ones."""
    random, found = generator(family, seed, dim), []
    while len(found) < number:
        truth = FAMILIES[family](random, dim)
        if truth(random.random((100, dim))).std() > 0.01:
            found.append(from_function(f"{family}-{seed}-{len(found)}", dim, truth))
    return found
