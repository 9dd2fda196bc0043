"""Standardised outputs have no unit, and are finite whatever was measured."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import example, given

from alx.learner.standardise import standardise

finite = st.floats(-1e6, 1e6)
outputs = st.lists(st.floats(-1e300, 1e300), max_size=30).map(np.array)


@given(outputs, st.none() | st.floats(-1e300, 1e300), st.none() | st.floats(1e-3, 1e300))
@example(np.array([5e-324]), None, 1.0)
def test_standardised_outputs_are_finite_and_keep_their_order(y, mean, std):
    z = standardise(y, mean, std)
    assert z.shape == y.shape
    assert not np.isnan(z).any()
    order = np.argsort(y)
    assert (np.diff(z[order]) >= 0).all()
    if std is None:
        assert np.isfinite(z).all()


@given(st.lists(finite, min_size=2, max_size=30).map(np.array), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_standardised_outputs_have_no_unit_and_unit_spread(y, scale, shift):
    z = standardise(y)
    if y.std() > 1e-3:
        np.testing.assert_allclose(standardise(y * scale + shift), z, rtol=1e-2, atol=1e-2)
        np.testing.assert_allclose([z.mean(), z.std(ddof=1)], [0, 1], atol=1e-6)


def test_standardised_outputs_at_few_equal_and_outlying_points():
    assert standardise(np.zeros(0)).shape == (0,)
    np.testing.assert_array_equal(standardise(np.array([7e5])), [0])
    np.testing.assert_allclose(standardise(np.array([50_000.0, 50_001.0])), [-(0.5**0.5), 0.5**0.5])
    np.testing.assert_array_equal(standardise(np.full(9, 1 / 3)), np.zeros(9))
    y = np.random.default_rng(0).normal(size=20)
    spoilt = np.append(y, 1e6)
    z = standardise(spoilt)
    assert z[:-1].std() > 0.5
    assert z[-1] < 5
    np.testing.assert_allclose(standardise(y, mean=1.0, std=2.0), (y - 1) / 2)
