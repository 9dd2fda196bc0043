"""Every objective against a dense computation in float64, its gradient against finite differences."""

import functools

import dense
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import simulated

from alx.network.policy import PolicyConfig
from alx.train import functions, simulate
from alx.train.objectives import CONTRASTIVE, OBJECTIVES
from alx.train.prior import KERNELS, PRIORS, Prior
from alx.train.rollout import Trajectory
from alx.train.simulate import Batch

every_objective = pytest.mark.parametrize("name", OBJECTIVES)
KEY = 5


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def loss(name, prior, T, experiment, x, y, mask):
    return OBJECTIVES[name](jax.random.key(KEY), prior, experiment, Trajectory(x, y, mask, T))


def dense_loss(name, prior, experiment, trajectory, index):
    single = dense.Single(prior, experiment, trajectory, index)
    if name == "dad":
        drawn = jax.random.normal(
            jax.random.key(KEY), (CONTRASTIVE, functions.FEATURES), experiment.noise.dtype
        )
        weights = np.asarray(drawn, float)
        return single.dad(weights * (2 / functions.FEATURES * single.theta.variance) ** 0.5)
    return getattr(single, name.replace("-", "_"))()


CASES = [(name, PRIORS["broad"], 2, 2) for name in OBJECTIVES] + [
    ("entropy", Prior(), 1, 1),
    ("regularized-entropy", Prior(), 1, 1),
    ("regularized-entropy-v2", PRIORS["wide"], 3, 0),
]


@pytest.mark.parametrize(("name", "prior", "dim", "n_init"), CASES)
def test_the_loss_is_the_dense_one(name, prior, dim, n_init):
    config = PolicyConfig(dim, 3, n_init)
    experiment = simulated.experiments(prior, config, Batch(3, 2, 1))
    trajectory = simulated.trajectories(config, experiment)
    values = loss(name, prior, 3, experiment, *trajectory[:3])
    exact = [dense_loss(name, prior, experiment, trajectory, i) for i in range(6)]
    np.testing.assert_allclose(values, exact, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", ["regularized-entropy", "regularized-entropy-v2"])
def test_masked_points_are_left_out(name):
    """As in a myopic history: the query is last, and some of the points before it are padding."""
    prior, config = PRIORS["nonstationary"], PolicyConfig(1, 4)
    experiment = simulated.experiments(prior, config, Batch(3))
    trajectory = simulated.trajectories(config, experiment)._replace(T=1)
    mask = np.array([True, True, False, False, True])[:, None]
    y = np.where(mask, trajectory.y, np.float32(np.nan))
    values = loss(name, prior, 1, experiment, trajectory.x, y, mask)
    exact = [dense_loss(name, prior, experiment, trajectory._replace(mask=mask), i) for i in range(3)]
    np.testing.assert_allclose(values, exact, rtol=2e-3, atol=2e-3)


@every_objective
def test_the_gradient_is_the_finite_difference(name):
    """In float64, through x and through y = f(x) + e."""
    prior, config = Prior(kernels=KERNELS, modulated=0.5, warped=0.5), PolicyConfig(2, 3)
    experiment = simulated.experiments(prior, config, Batch(3))
    x = simulated.trajectories(config, experiment).x.astype(float)
    direction = np.random.default_rng(1).normal(size=x.shape)
    with jax.enable_x64(True):
        experiment = jax.tree.map(lambda a: np.asarray(a, float) if a.dtype.kind == "f" else a, experiment)

        def value(step):
            moved = x + step * direction
            y = simulate.observe(prior, experiment, moved, experiment.noise)
            trajectory = Trajectory(moved, y, jnp.ones((4, 1), bool), 3)
            return OBJECTIVES[name](jax.random.key(KEY), prior, experiment, trajectory).sum()

        both = jax.jit(jax.value_and_grad(value))
        assert both(0.0)[0].dtype == jnp.float64
        slope = float(both(0.0)[1])
        difference = float(both(1e-5)[0] - both(-1e-5)[0]) / 2e-5
    np.testing.assert_allclose(slope, difference, rtol=1e-5)
    assert abs(slope) > 1e-3


@pytest.mark.parametrize(("one", "two"), [("entropy", "entropy-v2"), ("regularized-entropy",) * 2])
def test_an_objective_is_its_version_2_in_expectation(one, two):
    """The quadratic forms need the covariance of f only, which unshifted feature draws have exactly."""
    prior, config, n = Prior(), PolicyConfig(1, 3), 1000
    experiment = simulated.experiments(prior, config, Batch(1, n), n_grid=15)
    mean, unshifted = experiment.function.mean, experiment.function._replace(mean=np.zeros(n, np.float32))
    experiment = experiment._replace(function=unshifted, f_grid=experiment.f_grid + mean)
    x = np.broadcast_to(np.float32([[[0.1], [0.4], [0.55], [0.8]]]), (1, 4, n))
    y = jax.jit(simulate.observe, static_argnums=0)(prior, experiment, x, experiment.noise)
    mask = np.ones((4, 1), bool)
    sampled = np.asarray(loss(one, prior, 3, experiment, x, y, mask), float)
    exact = float(loss(two if two.endswith("v2") else f"{two}-v2", prior, 3, experiment, x, y, mask)[0])
    error = sampled.std() / n**0.5
    assert abs(sampled.mean() - exact) < 4 * error
    assert error < 0.1


@every_objective
def test_coincident_points_and_little_noise_stay_finite(name):
    prior = Prior(kernels=KERNELS, noise_sd=dist.Delta(0.01), modulated=0.5, warped=0.5)
    config = PolicyConfig(2, 5)
    experiment = simulated.experiments(prior, config, Batch(6), n_grid=10)

    def total(x):
        y = simulate.observe(prior, experiment, x, experiment.noise)
        losses = OBJECTIVES[name](
            jax.random.key(KEY), prior, experiment, Trajectory(x, y, jnp.ones((6, 1), bool), 5)
        )
        return losses.sum(), losses

    both = jax.jit(jax.value_and_grad(total, has_aux=True))
    for value in (0.0, 0.4, 1.0):
        (_, losses), gradient = both(np.full((2, 6, 6), value, np.float32))
        assert np.isfinite(losses).all()
        assert np.isfinite(gradient).all()


def test_a_batch_is_its_experiments_one_by_one():
    name, prior, config = "regularized-entropy", PRIORS["nonstationary"], PolicyConfig(1, 3)
    experiment = simulated.experiments(prior, config, Batch(4), n_grid=10)
    trajectory = simulated.trajectories(config, experiment)
    together = loss(name, prior, 3, experiment, *trajectory[:3])
    own = jax.tree.map(lambda a: a[..., 2:3], experiment)
    alone = loss(name, prior, 3, own, trajectory.x[..., 2:3], trajectory.y[..., 2:3], trajectory.mask)
    np.testing.assert_allclose(alone[0], together[2], rtol=1e-3, atol=1e-3)


def test_compiled_is_eager():
    name, prior, config = "entropy", Prior(), PolicyConfig(1, 2)
    experiment = simulated.experiments(prior, config, Batch(2), n_grid=5)
    trajectory = simulated.trajectories(config, experiment)
    eager = OBJECTIVES[name](jax.random.key(KEY), prior, experiment, trajectory)
    compiled = loss(name, prior, 2, experiment, *trajectory[:3])
    np.testing.assert_allclose(eager, compiled, rtol=1e-4, atol=1e-4)


@every_objective
def test_single_precision_data_are_differentiated_in_a_double_precision_process(name):
    prior, config = PRIORS["broad"], PolicyConfig(1, 2)
    experiment = simulated.experiments(prior, config, Batch(2))
    x, y, mask, _ = simulated.trajectories(config, experiment)

    def total(x, y):
        return OBJECTIVES[name](jax.random.key(KEY), prior, experiment, Trajectory(x, y, mask, 2)).sum()

    with jax.enable_x64(True):
        for gradient in jax.jit(jax.grad(total, argnums=(0, 1)))(np.float32(x), np.float32(y)):
            assert gradient.dtype == np.float32
            assert np.isfinite(gradient).all()


def test_dad_is_bounded_and_reaches_its_bound():
    """With little noise and functions far apart the true one is certain."""
    prior, config = Prior(noise_sd=dist.Delta(0.01)), PolicyConfig(1, 6)
    experiment = simulated.experiments(prior, config, Batch(20))
    x = simulated.trajectories(config, experiment).x
    y = jax.jit(simulate.observe, static_argnums=0)(prior, experiment, x, experiment.noise)
    values = loss("dad", prior, 6, experiment, x, y, np.ones((7, 1), bool))
    bound = -np.log(CONTRASTIVE + 1)
    assert (values >= bound - 1e-5).all()
    assert np.median(values) < bound + 1e-3


def test_dad_is_the_information_where_it_does_not_saturate():
    """I(f; y) = H(y) - H(noise), and sPCE is close to it when C is far above its exponential."""
    prior, config = Prior(noise_sd=dist.Delta(0.7)), PolicyConfig(1, 3, 0)
    experiment = simulated.experiments(prior, config, Batch(1500))
    x = simulated.trajectories(config, experiment).x
    y = jax.jit(simulate.observe, static_argnums=0)(prior, experiment, x, experiment.noise)
    mask = np.ones((3, 1), bool)
    bound = -loss("dad", prior, 3, experiment, x, y, mask)
    h_noise = 1.5 * np.log(2 * np.pi * np.e * 0.49)
    information = -loss("entropy-v2", prior, 3, experiment, x, y, mask) - h_noise
    error = np.std(bound - information) / len(bound) ** 0.5
    assert abs(np.mean(bound - information)) < 4 * error + 0.01
    assert np.mean(information) > 1
