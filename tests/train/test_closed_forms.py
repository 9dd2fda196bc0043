"""Functions that no kernel draws: what they are made of, and that they are standardised."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import Legendre

from alx.train import closed_forms as forms


@pytest.fixture(scope="module")
def drawn() -> forms.Form:
    return forms.draw_form(jax.random.key(0), 2, 400)


def test_a_form_is_its_closed_forms_one_point_at_a_time(drawn):
    shapes = (
        np.sin,
        np.tanh,
        lambda u: np.exp(-u * u / 2),
        lambda u: np.exp(np.clip(u / 2, -4, 3)),
        np.square,
        float,
        lambda u: 1.0,
    )
    x = np.random.default_rng(0).random((2, 3, 400)).astype(np.float32)
    found = forms.evaluate(drawn, jnp.asarray(x))
    form = jax.tree.map(np.asarray, drawn)
    for b in range(16):
        for i in range(3):
            at = x[:, i, b]
            value = sum(
                form.heights[j, b]
                * np.exp(-0.5 * np.sum(((at - form.centres[j, :, b]) * form.rates[j, :, b]) ** 2))
                for j in range(forms.BUMPS)
            )
            for t in range(forms.TERMS):
                factors = [
                    shapes[form.shapes[t, k, b]](
                        form.slopes[t, k, :, b] @ (2 * at - 1) + form.offsets[t, k, b]
                    )
                    for k in range(forms.FACTORS)
                ]
                value += form.weights[t, b] * np.prod(factors)
            for coefficient, degrees in zip(form.coefficients[:, b], form.degrees[:, :, b], strict=True):
                value += coefficient * np.prod(
                    [Legendre.basis(m)(z) for m, z in zip(degrees, 2 * at - 1, strict=True)]
                )
            np.testing.assert_allclose(found[i, b], value, rtol=1e-4, atol=1e-4)


def test_every_monomial_of_a_polynomial_is_as_likely():
    _, degrees = forms._draw_polynomial(jax.random.key(0), 2, 4000)
    found, counts = np.unique(
        np.moveaxis(np.asarray(degrees), 1, -1).reshape(-1, 2), axis=0, return_counts=True
    )
    assert {tuple(each) for each in found} == {(a, b) for a in range(5) for b in range(5) if 0 < a + b <= 4}
    expected = counts.sum() / len(found)
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_some_have_bumps_some_ridges_some_both_and_the_others_are_polynomials(drawn):
    parts = (drawn.heights, drawn.weights, drawn.coefficients)
    bumps, ridges, polynomial = (np.asarray(jnp.any(a != 0, 0)) for a in parts)
    assert ((bumps | ridges) ^ polynomial).all()
    np.testing.assert_allclose(np.mean(bumps & ~ridges), forms.BUMPS_ONLY, atol=0.08)
    np.testing.assert_allclose(np.mean(ridges & ~bumps), forms.RIDGES_ONLY, atol=0.08)


def test_standardised_forms_have_mean_zero_and_variance_one_over_the_points_given(drawn):
    at = jax.random.uniform(jax.random.key(1), (2, 50, 400))
    values = np.asarray(forms.evaluate(forms.standardise(drawn, at), at))
    np.testing.assert_allclose(values.mean(0), 0, atol=1e-3)
    spread = values.std(0)
    assert (spread < 1.001).all()
    assert np.mean(np.abs(spread - 1) < 1e-3) > 0.98  # the others hardly vary and are left so
