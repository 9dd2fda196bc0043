"""The ways to choose one query whose latency is compared, each as a call that returns a NumPy point."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import alx
from alx.belief import likely
from alx.network.policy import Policy, PolicyConfig
from alx.propose import decide
from benchmarks.evaluation import acquisition
from benchmarks.evaluation.methods import CANDIDATES

__all__ = ["botorch", "gp_al", "propose", "tell_and_ask", "throughput", "twin", "twin_batch", "warm"]

Call = Callable[[], object]


def propose(policy: Policy, x: np.ndarray, y: np.ndarray) -> Call:
    """``alx.propose`` as it is: weights and the whole history go in, every point is encoded."""
    history = alx.History.from_arrays(x, y, _capacity(policy, len(y)))
    return lambda: np.asarray(alx.propose(policy, history))


def warm(policy: Policy, x: np.ndarray, y: np.ndarray) -> Call:
    """The general policy's decision when the belief is up to date, as behind a learner."""
    belief = alx.believe(alx.History.from_arrays(x, y, _capacity(policy, len(y))))
    run = jax.jit(lambda belief: decide(policy, likely(belief), 1))
    return lambda: np.asarray(run(belief))


def tell_and_ask(policy: Policy, x: np.ndarray, y: np.ndarray) -> tuple[Call, Call, Call]:
    """A learner's ``tell`` of the newest point, its ``ask``, and the policy's decision within that."""
    learner = alx.Learner(policy, [(0, 1)] * x.shape[1], budget=_capacity(policy, len(y)))
    learner.tell(x, y)

    def tell() -> None:
        learner.forget()
        learner.tell(x[-1], y[-1])  # known already, so the number of points stays n

    def decide() -> object:
        asker, (one,) = learner._asker, learner._told_beliefs()
        return np.asarray(asker.run.decide(one.likely, *asker._none, np.float32(1), asker._rounding))

    return tell, learner.ask, decide


def _capacity(policy: Policy, n: int) -> int:
    trained = policy.config.capacity if isinstance(policy.config, PolicyConfig) else 1
    return max(trained, n + 1)


def twin(policy: Policy, x: np.ndarray, y: np.ndarray) -> Call:
    """The same network in PyTorch, on just the points there are."""
    call = twin_batch(policy, x[None], y[None])
    return lambda: call()[0]


def twin_batch(policy: Policy, x: np.ndarray, y: np.ndarray) -> Callable[[], np.ndarray]:
    """The twin on many histories ``x [batch, n, D]`` at once."""
    import torch

    from benchmarks.speed.torch_twin import from_policy

    network = from_policy(policy)
    inputs, outputs = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)

    def call() -> np.ndarray:
        with torch.inference_mode():
            return network(inputs, outputs).numpy()

    return call


def gp_al(x: np.ndarray, y: np.ndarray, score: Callable = acquisition.entropy) -> Call:
    """This package's GP AL: refit, then the best score of 5000 candidates."""
    candidates = np.random.default_rng(0).random((1, CANDIDATES, x.shape[1]))
    mask, free = np.ones((1, len(y)), bool), np.ones((1, CANDIDATES), bool)
    return lambda: candidates[0, acquisition.select(score, x[None], y[None], mask, candidates, free)]


def botorch(x: np.ndarray, y: np.ndarray) -> Call:
    """BoTorch: fit a single-task GP, then the largest posterior variance of the same number of candidates."""
    import warnings

    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    inputs, outputs = torch.tensor(x, dtype=torch.float64), torch.tensor(y, dtype=torch.float64)[:, None]
    candidates = torch.tensor(np.random.default_rng(0).random((CANDIDATES, 1, x.shape[1])))

    def call() -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on scaling and rare restarts of the fit
            model = SingleTaskGP(inputs, outputs)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            with torch.no_grad():
                variance = model.posterior(candidates).variance
        return candidates[variance.argmax(), 0].numpy()

    return call


def throughput(policy: Policy, x: np.ndarray, y: np.ndarray) -> Callable[[], np.ndarray]:
    """``alx.propose`` under ``jit`` and ``vmap`` on many histories ``x [batch, n, D]`` at once."""
    batch, n, dim = x.shape
    capacity = _capacity(policy, n)
    histories = alx.History(
        jnp.zeros((batch, capacity, dim)).at[:, :n].set(x),
        jnp.zeros((batch, capacity)).at[:, :n].set(y),
        jnp.broadcast_to(jnp.arange(capacity) < n, (batch, capacity)),
    )
    run = jax.jit(jax.vmap(alx.propose, in_axes=(None, 0)))
    return lambda: np.asarray(run(policy, histories))
