"""Intervals are those of the Student t."""

import jax
import numpy as np
import pytest
from scipy import stats

from alx.belief.predict import FREEDOM, _t_quantile


@pytest.mark.parametrize(("double", "tolerance"), [(False, 1e-3), (True, 1e-10)])
def test_the_quantile_is_that_of_scipy(double, tolerance):
    p = np.array([0.5, 0.75, 0.9, 0.95, 0.995, 0.9995])
    with jax.enable_x64(double):
        found = np.asarray(_t_quantile(p.astype(np.float64 if double else np.float32)))
    np.testing.assert_allclose(found, stats.t.ppf(p, FREEDOM), atol=tolerance)


def test_the_quantile_is_a_small_program():
    assert len(str(jax.make_jaxpr(_t_quantile)(0.95)).splitlines()) < 100
