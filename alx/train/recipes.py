"""From what a user asks for to a complete training config: the defaults, and the paper's recipe."""

import dataclasses

from alx.network.policy import Network, PolicyConfig
from alx.train.prior import PRIORS, Kernel, Prior, Range
from alx.train.simulate import Batch
from alx.train.step import TrainConfig

__all__ = ["Request", "config", "prior"]


@dataclasses.dataclass(frozen=True)
class Request:
    """What a user may choose; None takes the default, which depends on the other choices.

    Attributes:
        dim: number of inputs D.
        T: number of queries.
        n_init: number of labelled points before the first query (1).
        objective: what is minimised: entropy, regularized-entropy, entropy-v2, regularized-entropy-v2,
            integrated-variance, predictive, refitted-error (the default) or dad.
        warmup: so many steps at the start minimise integrated-variance instead (half of all for
            refitted-error with several inputs, else none).
        myopic: train single queries after random histories.
        paper: the paper's recipe: its network, prior, batch and number of steps.
        network: anchors (the default), paper, or static for a fixed design.
        start: a shipped name or a policy file of the same dim and network, from whose weights to start.
        prior: paper, wide, nonstationary, broad or unit (the default).
        kernel: rbf, matern32 or matern52 instead of the prior's kernels.
        variance: range of the signal variance.
        lengthscale: range of the lengthscales.
        noise_sd: range of the noise standard deviation.
        modulated: share of functions with an amplitude that varies over the domain.
        warped: share of functions with warped inputs.
        oscillating: share of functions that oscillate.
        batch: kernels, functions per kernel and noise draws per function in a step.
        steps: number of steps.
        lr: initial learning rate.
        decay: what is left of the learning rate after every 50 steps (0.98).
        clip: largest global norm of a gradient.
        bound: largest norm of the gradient of one experiment's loss with respect to one query (2 for
            refitted-error, else 100).
        chunk: at most so many experiments are simulated together (64 or less, which stay in the cache of a
            CPU; an accelerator has room for more). Other chunks draw other random numbers.
        seed: seed of everything random (0).
        seeds: train that many seeds (1), from `seed` on, and keep the best by the mean of the
            last 500 losses.
    """

    dim: int | None = None
    T: int | None = None
    n_init: int | None = None
    objective: str | None = None
    warmup: int | None = None
    myopic: bool = False
    paper: bool = False
    network: Network | None = None
    start: str | None = None
    prior: str | None = None
    kernel: Kernel | None = None
    variance: Range | None = None
    lengthscale: Range | None = None
    noise_sd: Range | None = None
    modulated: float | None = None
    warped: float | None = None
    oscillating: float | None = None
    batch: tuple[int, int, int] | None = None
    steps: int | None = None
    lr: float | None = None
    decay: float | None = None
    clip: float | None = None
    bound: float | None = None
    chunk: int | None = None
    seed: int | None = None
    seeds: int | None = None


def config(request: Request) -> TrainConfig:
    """The training config of a request, for its first seed."""
    if request.dim is None or request.T is None:
        raise ValueError("--dim and --T are needed, such as --dim 2 --T 20")
    if request.seeds is not None and request.seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {request.seeds}")
    defaults = _paper(request) if request.paper else _default(request)
    chosen = {
        name: value
        for name in ("objective", "warmup", "start", "steps", "lr", "decay", "clip", "bound", "chunk")
        if (value := getattr(request, name)) is not None
    }
    if request.batch is not None:
        chosen["batch"] = Batch(*request.batch)
    network = request.network or ("paper" if request.paper else "anchors")
    return TrainConfig(
        policy=PolicyConfig(request.dim, request.T, 1 if request.n_init is None else request.n_init, network),
        prior=prior(request, network),
        myopic=request.myopic,
        seed=request.seed or 0,
        **{**defaults, **chosen},
    )


def prior(request: Request, network: Network) -> Prior:
    """The named prior with the ranges and shares that were given."""
    name = request.prior or ("paper" if network == "paper" else "unit")
    if name not in PRIORS:
        raise ValueError(f"prior must be one of {', '.join(PRIORS)}, got {name!r}")
    given = {
        field: value
        for field in ("variance", "lengthscale", "noise_sd", "modulated", "warped", "oscillating")
        if (value := getattr(request, field)) is not None
    }
    if request.kernel is not None:
        given["kernels"] = (request.kernel,)
    return dataclasses.replace(PRIORS[name], **given)


def _default(request: Request) -> dict:
    """A fresh kernel and function per experiment: more for the same work, see docs/performance.md."""
    objective = request.objective or "refitted-error"
    steps = request.steps or {1: 4000, 2: 6000}.get(request.dim or 0, 4000)
    # With one input the design is most of it; with more, reacting takes long to learn.
    warmup = steps // 2 if objective == "refitted-error" and (request.dim or 0) > 1 else 0
    # Half of the noise in the gradient, for some bias towards functions that are not steep: docs/active.md.
    bound = 2.0 if objective == "refitted-error" else TrainConfig.bound
    return {
        "objective": objective,
        "warmup": warmup,
        "batch": Batch(256),
        "steps": steps,
        "lr": 2e-3,
        "bound": bound,
    }


def _paper(request: Request) -> dict:
    """25 kernels x 25 functions x 10 noise draws; 20,000 steps, 10,000 for the regularised objective.

    The myopic batch is 250 kernels in chunks with a history size each.
    """
    objective = request.objective or "entropy"
    return {
        "objective": objective,
        "batch": Batch(250, 5, 5) if request.myopic else Batch(25, 25, 10),
        "steps": 10_000 if objective.startswith("regularized") else 20_000,
        "lr": 1e-3,
    }
