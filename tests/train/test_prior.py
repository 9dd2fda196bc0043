"""The prior's ranges and shares, and its kernels against tinygp and a dense computation."""

import dataclasses
import json

import dense
import jax
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats
import simulated
import tinygp

from alx.train import covariance as kernels
from alx.train import prior as priors
from alx.train.prior import KERNELS, PRIORS, Prior

N = 4000
sample = jax.jit(priors.sample, static_argnums=(1, 2, 3))
covariance = jax.jit(kernels.covariance, static_argnums=0)
variance = jax.jit(kernels.variance, static_argnums=0)


def uniform(values, low, high):
    return scipy.stats.kstest(np.ravel(values), scipy.stats.uniform(low, high - low).cdf).pvalue


def test_the_paper_has_uniform_ranges_and_its_noise():
    theta = sample(jax.random.key(0), Prior(), 2, (N,))
    assert theta.lengthscale.shape == (2, N)
    assert uniform(theta.variance, 0.505, 1.0) > 1e-3
    for own in theta.lengthscale:
        assert uniform(own, 0.05, 1.0) > 1e-3
    assert abs(np.corrcoef(theta.lengthscale)[0, 1]) < 0.08
    np.testing.assert_allclose(theta.noise, 1.01 - theta.variance, atol=1e-6)
    assert theta.noise.min() > 0.0099


def test_the_nonstationary_prior_is_log_uniform_and_mixes():
    prior = PRIORS["nonstationary"]
    theta = sample(jax.random.key(1), prior, 2, (N,))
    assert uniform(np.log(theta.lengthscale[0]), np.log(0.08), np.log(3)) > 1e-3
    assert uniform(0.5 * np.log(theta.noise), np.log(0.02), np.log(0.05)) > 1e-3
    assert uniform(theta.radius, 0.12, 0.5) > 1e-3
    assert uniform(theta.centre, 0, 1) > 1e-4
    assert uniform(np.log(theta.shape_a), np.log(0.5), np.log(2)) > 1e-3
    shares = [(theta.kernel == index).mean() for index in range(3)]
    np.testing.assert_allclose(shares, 1 / 3, atol=0.04)
    np.testing.assert_allclose([theta.modulated.mean(), theta.warped.mean()], [0.75, 0.5], atol=0.04)
    each = [*theta.centre, *theta.shape_a, *theta.shape_b]
    drawn = np.stack([theta.variance, theta.noise, theta.radius, *each])
    assert np.abs(np.corrcoef(drawn) - np.eye(len(drawn))).max() < 0.08


def test_a_share_of_functions_oscillates_four_times_over_the_domain_at_most():
    theta = sample(jax.random.key(2), PRIORS["broad"], 2, (N,))
    oscillating = np.asarray(theta.frequency[0] > 0)
    np.testing.assert_allclose(oscillating.mean(), 0.3, atol=0.04)
    for own in theta.frequency:
        assert uniform(own[oscillating], 0, 4 * np.pi) > 1e-3
        assert not own[~oscillating].any()


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_covariances_of_a_batch_are_the_dense_ones_of_each(dim):
    prior, n = PRIORS["broad"], 12
    theta = simulated.thetas(prior, dim, (n,))
    x, z = np.float32(np.random.default_rng(dim).random((2, dim, 3, n)))
    k, own = covariance(prior, theta, x, z), variance(prior, theta, x)
    for i in range(n):
        each = dense.pick(theta, i)
        points, others = np.asarray(x, float)[..., i].T, np.asarray(z, float)[..., i].T
        np.testing.assert_allclose(k[..., i], dense.covariance(prior, each, points, others), atol=4e-4)
        gram = dense.covariance(prior, each, points, points)
        np.testing.assert_allclose(own[..., i], np.diag(gram), atol=4e-4)
    mapped = jax.jit(jax.vmap(lambda *a: kernels.covariance(prior, *a), -1, -1))(theta, x, z)
    np.testing.assert_allclose(mapped, k, atol=5e-6)
    alone = jax.tree.map(lambda a: a[..., 0], theta)
    np.testing.assert_allclose(covariance(prior, alone, x[..., 0], z[..., 0]), k[..., 0], atol=5e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_stationary_kernels_are_those_of_tinygp(kernel):
    prior = Prior(kernels=(kernel,))
    theta = simulated.thetas(prior, 2)
    x, z = np.float32(np.random.default_rng(5).random((2, 2, 4)))
    metric = tinygp.kernels.distance.L2Distance()
    base = {
        "rbf": tinygp.kernels.ExpSquared(),
        "matern32": tinygp.kernels.Matern32(distance=metric),
        "matern52": tinygp.kernels.Matern52(distance=metric),
    }[kernel]
    scaled = theta.variance * tinygp.transforms.Linear(1 / theta.lengthscale, base)
    np.testing.assert_allclose(covariance(prior, theta, x, z), scaled(x.T, z.T), atol=1e-5)


def test_gradients_are_finite_where_points_coincide_and_on_the_border():
    prior = PRIORS["nonstationary"]
    theta = simulated.thetas(prior, 2, (64,))
    gradient = jax.jit(jax.grad(lambda x: kernels.covariance(prior, theta, x, x).sum()))
    for value in (0.0, 0.5, 1.0):
        assert np.isfinite(gradient(np.full((2, 2, 64), value, np.float32))).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kernels": ()},
        {"kernels": ("cubic",)},
        {"kernels": ("os:path",)},
        {"kernels": ("nowhere:KERNEL",)},
        {"variance": dist.Uniform(0.0, 1.0)},
        {"variance": dist.Uniform(0.5, 1.2)},
        {"variance": dist.LogNormal(0.0, 1.0)},
        {"variance": 0.5},
        {"lengthscale": (0.5, 1.0)},
        {"lengthscale": dist.Uniform(1.0, 0.5)},
        {"lengthscale": dist.Uniform(0.1, float("inf"))},
        {"lengthscale": dist.Normal(1.0, 0.1)},
        {"lengthscale": dist.Delta(0.0)},
        {"noise_sd": dist.Uniform(-0.1, 0.1)},
        {"noise_sd": dist.Uniform(float("nan"), 0.1)},
        {"modulated": 1.5},
        {"warped": -0.1},
        {"oscillating": 2.0},
    ],
)
def test_a_prior_that_makes_no_sense_names_the_field(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        dataclasses.replace(Prior(), **wrong)


KERNEL = tinygp.kernels.RationalQuadratic(alpha=1.5) + 0.5 * tinygp.kernels.Matern32(scale=2.0)
OWN = [
    Prior(lengthscale=dist.LogNormal(-1.0, 1.0)),
    Prior(variance=dist.Delta(1.0), noise_sd=dist.HalfNormal(0.1)),
    Prior(kernels=("rbf", KERNEL)),
    Prior(kernels=("test_prior:KERNEL",)),
]


@pytest.mark.parametrize("prior", [*PRIORS.values(), *OWN])
def test_a_prior_comes_back_from_a_file_as_it_was(prior):
    again = Prior.from_json(json.loads(json.dumps(prior.to_json())))
    assert again == prior
    assert hash(again) == hash(prior)
    assert again != dataclasses.replace(prior, warped=0.123)


def test_priors_with_other_distributions_or_kernels_are_others():
    assert len({*PRIORS.values(), *OWN}) == len(PRIORS) + len(OWN)
    assert Prior(lengthscale=dist.Uniform(0.05, 1.0)) == Prior()
    assert Prior(lengthscale=dist.LogUniform(0.1, 2.0)) == Prior(lengthscale=priors.LogUniform(0.1, 2.0))


def test_what_cannot_be_written_says_so():
    custom = tinygp.kernels.Custom(lambda x, z: (x * z).sum())
    with pytest.raises(ValueError, match="cannot be written to a file; give it as module:name"):
        Prior(kernels=(custom,)).to_json()
    assert Prior(kernels=(custom,)) == Prior(kernels=(custom,)), "it can be used all the same"
    mixture = dist.TruncatedDistribution(dist.Normal(0.5, 1.0), low=0.1)
    with pytest.raises(ValueError, match="is not made of a distribution of numpyro and numbers"):
        Prior(lengthscale=mixture).to_json()


def test_lengthscales_follow_a_distribution_of_ones_own():
    theta = sample(jax.random.key(3), Prior(lengthscale=dist.LogNormal(-1.0, 0.5)), 2, (N,))
    z = (np.log(theta.lengthscale) + 1) / 0.5
    assert scipy.stats.kstest(np.ravel(z), "norm").pvalue > 1e-3


def test_log_uniform_is_numpyros():
    ours, theirs = (kind(0.08, 3.0) for kind in (priors.LogUniform, dist.LogUniform))
    key, x = jax.random.key(0), np.float32([0.1, 1.0, 2.9])
    np.testing.assert_allclose(ours.sample(key, (5,)), theirs.sample(key, (5,)), rtol=1e-6)
    np.testing.assert_allclose(ours.log_prob(x), theirs.log_prob(x), rtol=1e-6)


def test_kernels_of_tinygp_take_lengthscales_and_variance_as_alxs_own():
    """The same kernel by both ways, alone and mixed with another; and its diagonal."""
    metric = tinygp.kernels.distance.L2Distance()
    theirs = Prior(kernels=("rbf", tinygp.kernels.Matern52(distance=metric)), modulated=0.5, warped=0.5)
    ours = dataclasses.replace(theirs, kernels=("rbf", "matern52"))
    theta = simulated.thetas(ours, 2, (6,))
    x, z = np.float32(np.random.default_rng(5).random((2, 2, 4, 6)))
    np.testing.assert_allclose(covariance(theirs, theta, x, z), covariance(ours, theta, x, z), atol=1e-5)
    np.testing.assert_allclose(variance(theirs, theta, x), variance(ours, theta, x), atol=1e-5)
    doubled = Prior(kernels=(2.0 * tinygp.kernels.ExpSquared(),))
    np.testing.assert_allclose(
        variance(doubled, theta, x), 2 * np.broadcast_to(theta.variance, (4, 6)), rtol=1e-5
    )
