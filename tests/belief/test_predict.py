"""Intervals are those of the Student t."""

import jax
import numpy as np
import pytest
from scipy import stats

from alx.belief.predict import t_quantile
from alx.learner.model import T_90
from alx.network.deviation import FREEDOM


@pytest.mark.parametrize(("double", "tolerance"), [(False, 2e-3), (True, 1e-10)])
def test_the_quantile_is_that_of_scipy(double, tolerance):
    p, freedom = np.meshgrid([0.5, 0.75, 0.9, 0.95, 0.995], [2.5, 6.0, 40.0])
    with jax.enable_x64(double):
        kind = np.float64 if double else np.float32
        found = np.asarray(t_quantile(p.astype(kind), freedom.astype(kind)))
    np.testing.assert_allclose(found, stats.t.ppf(p, freedom), rtol=tolerance, atol=tolerance)


def test_the_range_of_an_error_holds_nine_tenths_of_its_student_t():
    assert pytest.approx(stats.t.ppf(0.95, FREEDOM), abs=1e-4) == T_90


def test_the_quantile_is_a_small_program():
    assert len(str(jax.make_jaxpr(t_quantile)(0.95, jax.numpy.full(3, 6.0))).splitlines()) < 100
