"""Rivals from other packages (extra ``bench``), imported when they are asked for.

Each gets the same points as every other method and is judged by the same final model.
"""

import importlib
from typing import Any

import numpy as np

from benchmarks.evaluation.data import Unavailable
from benchmarks.evaluation.methods import Method, Round, generator

__all__ = ["adaptive", "botorch", "integrated_variance"]

INTEGRATION = 128  # points of a Sobol sequence that stand for the unit cube in qNIPV
# Where qNIPV is evaluated, in a pool as well; it is flat enough that its gradient search often fails.
CANDIDATES = 512


def _need(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise Unavailable(f"the package {package} is not installed; pip install {package}") from None


def adaptive(dim: int) -> Method:
    """python-adaptive's Learner1D or Learner2D, told all points so far and asked for one."""
    package = _need("adaptive")
    if dim > 2:
        raise Unavailable("adaptive's Learner1D and Learner2D have one or two inputs")

    def one(state: Round, i: int) -> np.ndarray:
        done = state.mask[i]
        points = state.x[i, done, 0].tolist() if dim == 1 else list(map(tuple, state.x[i, done].tolist()))
        unit: Any = (0, 1) if dim == 1 else [(0, 1), (0, 1)]
        learner = (package.Learner1D if dim == 1 else package.Learner2D)(lambda x: x, bounds=unit)
        for x, y in zip(points, state.y[i, done].tolist(), strict=True):
            learner.tell(x, y)
        (x,), _ = learner.ask(1, tell_pending=False)
        return np.atleast_1d(np.asarray(x, float))

    def choose(state: Round) -> np.ndarray:
        return np.stack([one(state, i) for i in range(len(state.seeds))])

    return Method("adaptive", choose, lambda state: lambda: one(state, 0), package.__version__)


def botorch() -> Method:
    """BoTorch's GP, fitted anew by BoTorch before every query, and its integrated posterior variance."""
    package = _need("botorch")
    torch = _need("torch")

    def one(state: Round, i: int) -> np.ndarray:
        done = state.mask[i]
        stream = generator(state.task.name, state.seeds[i], "botorch", state.step)
        if state.available is None:
            places = stream.random((CANDIDATES, state.task.dim))
        else:
            places = state.task.test_x[stream.permutation(np.flatnonzero(state.available[i]))[:CANDIDATES]]
        # More threads than cores make such small matrices hundreds of times slower.
        torch.set_num_threads(1)
        with package.manual_seed(int(stream.integers(2**31))), torch.no_grad():
            acquisition, _ = integrated_variance(*map(torch.as_tensor, (state.x[i, done], state.y[i, done])))
            values = torch.cat([acquisition(part[:, None]) for part in torch.as_tensor(places).split(64)])
        return places[values.numpy().argmax()]

    def choose(state: Round) -> np.ndarray:
        return np.stack([one(state, i) for i in range(len(state.seeds))])

    return Method("botorch", choose, lambda state: lambda: one(state, 0), package.__version__)


def integrated_variance(x: Any, y: Any) -> tuple[Any, Any]:
    """qNIPV of a SingleTaskGP fitted to tensors ``x [n, D]``, ``y [n]``, and that model."""
    torch, models, fit = map(_need, ("torch", "botorch.models", "botorch.fit"))
    likelihoods, acquisition = map(_need, ("gpytorch.mlls", "botorch.acquisition.active_learning"))
    with torch.enable_grad():
        model = models.SingleTaskGP(x, y[:, None])
        fit.fit_gpytorch_mll(likelihoods.ExactMarginalLogLikelihood(model.likelihood, model))
    cube = torch.stack([x.new_zeros(x.shape[1]), x.new_ones(x.shape[1])])
    points = _need("botorch.utils.sampling").draw_sobol_samples(cube, n=INTEGRATION, q=1, seed=0)[:, 0]
    return acquisition.qNegIntegratedPosteriorVariance(model, mc_points=points), model
