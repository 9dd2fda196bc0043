"""Function draws have the covariance of their kernel and the exact mean."""

import functools

import dense
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import simulated
import tinygp

from alx.train import functions, interpolate
from alx.train.prior import KERNELS, PRIORS, Prior, Theta

DRAWS = 40_000
evaluate = jax.jit(functions.evaluate, static_argnums=0)


def one_theta(kernel: int, modulated: bool = False, warped: bool = False, oscillating: bool = False) -> Theta:
    return Theta(
        variance=np.float32(0.8),
        lengthscale=np.float32([0.3, 0.6]),
        noise=np.float32(0.01),
        kernel=np.int32(kernel),
        modulated=np.bool_(modulated),
        centre=np.float32([0.3, 0.4]),
        radius=np.float32(0.3),
        warped=np.bool_(warped),
        shape_a=np.float32([0.6, 1.8]),
        shape_b=np.float32([1.5, 0.7]),
        frequency=np.float32([4.0, 7.0]) * oscillating,
    )


@functools.partial(jax.jit, static_argnums=1)
def unshifted_draws(key, prior: Prior, theta: Theta, x):
    """Many draws at x without the shift to zero mean, which changes the covariance."""
    many = jax.tree.map(lambda a: jnp.broadcast_to(a[..., None], (*a.shape, DRAWS)), theta)
    function = functions.draw_function(key, prior, many)
    return functions.evaluate(prior, many, function._replace(mean=jnp.zeros(DRAWS)), x[..., None])


@pytest.mark.parametrize(
    ("kernels", "kernel", "kind"),
    [
        (("rbf",), 0, (False, False, False)),
        (("matern32",), 0, (False, False, False)),
        (("matern52",), 0, (False, False, False)),
        (KERNELS, 0, (True, False, False)),
        (KERNELS, 1, (False, True, False)),
        (KERNELS, 0, (False, False, True)),
        (KERNELS, 2, (True, True, True)),
    ],
)
def test_draws_have_the_covariance_of_their_kernel(kernels, kernel, kind):
    share = 0.0 if len(kernels) == 1 else 0.5
    prior = Prior(kernels=kernels, modulated=share, warped=share, oscillating=share)
    theta = one_theta(kernel, *kind)
    x = np.float32([[0.1, 0.35, 0.5, 0.95], [0.8, 0.6, 0.5, 0.3]])
    f = np.asarray(unshifted_draws(jax.random.key(kernel), prior, theta, x), float)
    products = f[:, None] * f[None]
    error = products.std(-1) / DRAWS**0.5
    exact = dense.covariance(prior, theta, x.T, x.T)
    np.testing.assert_array_less(np.abs(products.mean(-1) - exact), 4 * error)
    np.testing.assert_array_less(np.abs(f.mean(-1)), 4 * f.std(-1) / DRAWS**0.5)
    assert error.max() < 0.008, "the test has lost its power"


def test_draws_of_a_tinygp_kernel_have_its_dense_covariance():
    """Exactly, as a draw is linear in its normal numbers: one function for each of them, set to one."""
    kernel = tinygp.kernels.RationalQuadratic(alpha=1.0, distance=tinygp.kernels.distance.L2Distance())
    prior, theta = Prior(kernels=(kernel,)), one_theta(0)
    x = np.float32([[0.1, 0.35, 0.5, 0.95], [0.8, 0.6, 0.5, 0.3]])

    @jax.jit
    def both(x):
        function = interpolate.from_normal(prior, theta, jnp.eye(interpolate.PLACES))
        unshifted = function._replace(mean=jnp.zeros_like(function.mean))
        places = interpolate._places(theta)
        return functions.evaluate(prior, theta, unshifted, x), functions.evaluate(
            prior, theta, function, places
        )

    f, at_places = map(np.asarray, both(x))
    exact = 0.8 * kernel(x.T / theta.lengthscale, x.T / theta.lengthscale)
    np.testing.assert_allclose(f @ f.T, exact, atol=1e-3)
    np.testing.assert_allclose(at_places.mean(0), 0, atol=1e-4, err_msg="a draw has zero mean")


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_window_mean_is_the_quadrature(dim):
    rng = np.random.default_rng(dim)
    weights, phases = rng.normal(size=8), rng.uniform(0, 2 * np.pi, 8)
    frequencies = rng.normal(scale=8, size=(8, dim))
    frequencies[0] = 0
    frequencies[1, 0] = 0
    frequencies[2, -1] = 1e-6
    mean = functions.window_mean(*map(jnp.asarray, (weights, frequencies, phases)))
    np.testing.assert_allclose(mean, dense.window_mean(weights, frequencies, phases), atol=2e-6)


@pytest.mark.parametrize("dim", [1, 2])
def test_a_draw_has_zero_mean_over_the_cube(dim):
    prior = Prior()
    theta = simulated.thetas(prior, dim, (5,))
    function = jax.jit(functions.draw_function, static_argnums=1)(jax.random.key(1), prior, theta)
    node, weight = np.polynomial.legendre.leggauss(60)
    node, weight = (node + 1) / 2, weight / 2
    x = np.stack(np.meshgrid(*[node] * dim, indexing="ij")).reshape(dim, -1)
    w = np.prod(np.stack(np.meshgrid(*[weight] * dim, indexing="ij")), 0).ravel()
    f = evaluate(prior, theta, function, np.float32(x)[..., None])
    np.testing.assert_allclose(w @ np.asarray(f), 0, atol=1e-5)


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_points_at_once_are_points_one_by_one(dim):
    prior, n = PRIORS["nonstationary"], 6
    theta = simulated.thetas(prior, dim, (n,))
    function = simulated.functions(theta)
    x = np.float32(np.random.default_rng(dim).random((dim, 4, n)))
    f = evaluate(prior, theta, function, x)
    single = [evaluate(prior, theta, function, x[:, i : i + 1]) for i in range(4)]
    np.testing.assert_allclose(f, np.concatenate(single), atol=2e-5)
    mapped = jax.jit(jax.vmap(lambda *a: functions.evaluate(prior, *a), -1, -1))(theta, function, x)
    np.testing.assert_allclose(f, mapped, atol=2e-5)
    for i in range(n):
        own, points = dense.pick(function, i), np.asarray(x, float)[..., i].T
        exact = dense.evaluate(prior, dense.pick(theta, i), own, points)
        np.testing.assert_allclose(f[:, i], exact, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_series_of_cos_and_its_slope_are_numpys(dtype):
    angle = np.concatenate([np.linspace(-9, 9, 1001), [0, np.pi, -np.pi, 3 * np.pi, 150.0, -150.0]]).astype(
        dtype
    )
    with jax.enable_x64(dtype is np.float64):
        value, back = jax.vjp(jax.jit(functions.cos), angle)
        value, slope = np.asarray(value), np.asarray(back(np.ones_like(angle))[0])
    assert value.dtype == slope.dtype == dtype
    # The angle itself is known to a rounding of its size.
    atol = 4 * np.finfo(dtype).eps * np.maximum(1, np.abs(angle))
    assert (np.abs(value - np.cos(angle.astype(float))) < atol).all()
    assert (np.abs(slope + np.sin(angle.astype(float))) < atol).all()
