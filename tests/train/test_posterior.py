"""The posterior with theta known, against a dense computation in float64."""

import dense
import jax
import numpy as np
import pytest
import simulated

from alx.network.policy import PolicyConfig
from alx.train.posterior import posterior
from alx.train.prior import PRIORS, Prior
from alx.train.rollout import Trajectory
from alx.train.simulate import Batch

solved = jax.jit(
    lambda prior, theta, x, y, mask, at: posterior(prior, theta, Trajectory(x, y, mask, 1), at),
    static_argnums=0,
)


@pytest.mark.parametrize(("prior", "dim"), [(PRIORS["broad"], 2), (PRIORS["wide"], 5)])
def test_mean_and_variance_are_the_dense_ones_and_padding_does_not_matter(prior, dim):
    config = PolicyConfig(dim, 5)
    experiment = simulated.experiments(prior, config, Batch(3))
    trajectory = simulated.trajectories(config, experiment)
    mask = np.array([True, True, False, True, False, True])[:, None]
    y = np.where(mask, trajectory.y, np.float32(np.nan))
    mean, variance, _ = solved(prior, experiment.theta, trajectory.x, y, mask, experiment.grid)
    for i in range(3):
        single = dense.Single(prior, experiment, trajectory._replace(mask=mask), i)
        exact = single.posterior(single.grid)
        np.testing.assert_allclose(mean[:, i], exact[0], rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(variance[:, i], exact[1], rtol=2e-3, atol=2e-3)


def test_more_data_leave_less_variance():
    prior, config = Prior(), PolicyConfig(1, 5)
    experiment = simulated.experiments(prior, config, Batch(8))
    x, y, *_ = simulated.trajectories(config, experiment)
    masks = [np.arange(6)[:, None] < n for n in (0, 3, 6)]
    left = [solved(prior, experiment.theta, x, y, mask, experiment.grid)[1].mean(0) for mask in masks]
    assert (np.diff(left, axis=0) < 0).all()
