"""The GP fit against scikit-learn's, time and likelihood: ``python -m benchmarks.speed.fit``."""

import time
import warnings
from typing import Any

import numpy as np
import tyro
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

from benchmarks.evaluation import gp_model


def draws(rng: np.random.Generator, count: int, n: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Data sets ``[count, n, D]`` and ``[count, n]`` from GPs with random kernels and noise."""
    x = rng.random((count, n, dim))
    length = np.exp(rng.uniform(np.log(0.05), 0, (count, 1, 1, dim)))
    noise = np.exp(rng.uniform(np.log(0.01), np.log(0.3), (count, 1, 1)))
    gram = np.exp(-0.5 * np.square((x[:, :, None] - x[:, None]) / length).sum(-1)) + noise**2 * np.eye(n)
    return x, (np.linalg.cholesky(gram) @ rng.normal(size=(count, n, 1)))[..., 0]


def scikit_learn(x: np.ndarray, y: np.ndarray, restarts: int) -> float:
    """The log likelihood that scikit-learn finds within the same bounds."""
    scale = RBF([0.3] * x.shape[1], gp_model.LENGTHSCALE)
    kernel = ConstantKernel(1, gp_model.VARIANCE) * scale + WhiteKernel(0.01, gp_model.NOISE)
    regressor = GaussianProcessRegressor(kernel, alpha=0, n_restarts_optimizer=restarts, random_state=0)
    # Its small matrices only lose time on several threads.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted: Any = regressor.fit(x, y)
        return float(fitted.log_marginal_likelihood_value_)


def main(count: int = 50, restarts: int = 10) -> None:
    """Fit random data sets with both and print milliseconds per fit and the likelihoods' difference.

    Args:
        count: number of data sets per dimension.
        restarts: scikit-learn's restarts beside its first start; with none it is often stuck in a worse
            optimum. Ours are always 32.
    """
    for dim, n in ((1, 11), (2, 21)):
        x, y = draws(np.random.default_rng(dim), count, n, dim)
        mask = np.ones(y.shape, bool)
        gp_model.fit_many(x[:1], y[:1], mask[:1])
        start = time.perf_counter()
        _, ours = gp_model.fit_many(x, y, mask)
        middle = time.perf_counter()
        theirs = [scikit_learn(*pair, restarts) for pair in zip(x, y, strict=True)]
        end = time.perf_counter()
        fast, slow = 1e3 * (middle - start) / count, 1e3 * (end - middle) / count
        difference = np.asarray(ours) - theirs
        print(
            f"D = {dim}, n = {n}: {fast:.2f} ms per fit, scikit-learn {slow:.1f} ms ({slow / fast:.0f} times)"
        )
        print(f"  log likelihood, ours - theirs: worst {difference.min():.1e}, mean {difference.mean():.1e}")


if __name__ == "__main__":
    tyro.cli(main)
