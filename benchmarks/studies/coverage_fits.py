"""Other people's models of the same points: log RMSE of the project's own fit and of scikit-learn's.

Both get what a learner gets: outputs standardised by the mean and the deviation of the points.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.evaluation import gp_model
from benchmarks.evaluation.tasks import Task
from benchmarks.studies.coverage_cells import PLACES, Design, labels, log_rmse, points

__all__ = ["FITS", "fit", "scikit"]

RESTARTS = 3  # of scikit-learn's


def fit(tasks: Sequence[Task], design: Design, n: int) -> np.ndarray:
    """log RMSE ``[B]`` of the fit of `benchmarks.evaluation.gp_model` to n uniform points."""
    x, y, centre, spread = _standardised(tasks, design, n)
    mask, at = np.ones(y.shape, bool), tasks[0].test_x[:PLACES]
    theta, _ = gp_model.fit_many(x, y, mask)
    parts = [slice(i, i + gp_model.BLOCK) for i in range(0, len(y), gp_model.BLOCK)]
    means = np.concatenate([_means(theta[p], x[p], y[p], mask[p], at) for p in parts])
    return _errors(centre + spread * means, tasks)


def _means(theta, x, y, mask, at: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(_predict(*(jnp.asarray(a.T) for a in (theta, x, y, mask, at)))).T


@jax.jit
def _predict(theta, x, y, mask, at):
    at = jnp.broadcast_to(at[..., None], (*at.shape, y.shape[-1]))
    return gp_model.predict(gp_model.condition(theta, x, y, mask), at)[0]


def scikit(tasks: Sequence[Task], design: Design, n: int) -> np.ndarray:
    """The same of scikit-learn's GP with an RBF kernel, a lengthscale for each input, and noise."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    x, y, centre, spread = _standardised(tasks, design, n)
    at, means = tasks[0].test_x[:PLACES], []
    for own_x, own_y in zip(x, y, strict=True):
        lengthscales: Any = [0.3] * at.shape[1]  # its annotations know of a single one only
        kernel = ConstantKernel() * RBF(lengthscales) + WhiteKernel(0.01, (1e-6, 1.0))
        regressor = GaussianProcessRegressor(kernel, n_restarts_optimizer=RESTARTS, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of lengthscales at the end of their range
            means.append(regressor.fit(own_x, own_y).predict(at))
    return _errors(centre + spread * np.stack(means), tasks)


def _standardised(tasks: Sequence[Task], design: Design, n: int) -> tuple[np.ndarray, ...]:
    """Uniform points ``[B, n, D]``, standardised outputs ``[B, n]``, their mean and deviation ``[B, 1]``."""
    drawn = [points(task, design) for task in tasks]
    x = np.stack([at[:n] for at, _ in drawn])
    y = np.stack([labels(task, at[:n]) + noise[:n] for task, (at, noise) in zip(tasks, drawn, strict=True)])
    centre, spread = y.mean(1, keepdims=True), y.std(1, ddof=1, keepdims=True)
    return x, (y - centre) / spread, centre, spread


def _errors(means: np.ndarray, tasks: Sequence[Task]) -> np.ndarray:
    return np.array([log_rmse(mean, task.test_y[:PLACES]) for mean, task in zip(means, tasks, strict=True)])


FITS: dict[str, Callable[[Sequence[Task], Design, int], np.ndarray]] = {"fit": fit, "scikit-learn": scikit}
