"""The config for training a network that maps the points straight to the next one, and its presets."""

import dataclasses
from typing import Any

from alx.network.policy import NETWORKS, PolicyConfig
from alx.train import plugin
from alx.train.objectives import OBJECTIVES, Objective
from alx.train.prior import KERNELS, PRIORS, Prior
from alx.train.simulate import Batch

__all__ = ["TrainConfig", "default", "paper"]

FRESH = Batch(256)  # a kernel and a function for each experiment: more for the same work


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """Everything that decides the result of a training run.

    Attributes:
        policy: dimension, budget and network.
        prior: where kernels and noise come from.
        objective: what is minimised: entropy, regularized-entropy, entropy-v2, regularized-entropy-v2, dad,
            or module:name of a function such as those in `alx.train.objectives`.
        start: a shipped name or a policy file whose weights to start from; None for fresh ones.
        myopic: train single queries after random histories instead of whole trajectories.
        batch: kernels, functions per kernel and noise draws per function in a step.
        steps: how many steps.
        lr: initial learning rate.
        decay: factor on the learning rate after every 50 steps; 0.98 in the paper.
        clip: largest global norm of a gradient.
        bound: largest norm of the gradient of an experiment's loss with respect to a query.
        seed: seed of everything random.
        chunk: at most so many experiments are simulated together; None for what stays in a processor's cache,
            64 or fewer. An accelerator has room for more. Another chunk size draws other random numbers.
    """

    policy: PolicyConfig
    prior: Prior = PRIORS["paper"]
    objective: str | Objective = "entropy"
    start: str | None = None
    myopic: bool = False
    batch: Batch = FRESH
    steps: int = 2000
    lr: float = 1e-3
    decay: float = 0.98
    clip: float = 1.0
    bound: float = 100.0
    seed: int = 0
    chunk: int | None = None

    def __post_init__(self):
        if not callable(self.loss):
            raise ValueError(f"objective must be a function, got {self.objective!r}")
        if self.objective == "dad" and self.myopic:
            raise ValueError("myopic training has no objective dad, which compares whole trajectories")
        if self.objective == "dad" and not self.prior.named:
            raise ValueError(f"objective dad needs kernels of {', '.join(KERNELS)}, got {self.prior.kernels}")
        if len(self.batch) != 3 or min(self.batch) < 1:
            raise ValueError(
                f"batch must be three whole numbers of at least 1, KERNELS FUNCTIONS NOISES, got {self.batch}"
            )
        for name in ("steps", "chunk"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        for name in ("lr", "clip", "bound"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be a positive number, got {getattr(self, name)}")
        if not 0 < self.decay <= 1:
            raise ValueError(f"decay must be above 0 and at most 1, got {self.decay}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be between 0 and 2^32 - 1, got {self.seed}")

    @property
    def loss(self) -> Objective:
        """The objective itself."""
        if isinstance(self.objective, str):
            return plugin.find(self.objective, OBJECTIVES, "objective")
        return self.objective

    def to_json(self) -> dict[str, Any]:
        """What makes the same config again, in another process."""
        objective = self.objective
        if not isinstance(objective, str):
            objective = plugin.name_of(objective, "objective")
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {
            "policy": dataclasses.asdict(self.policy),
            "prior": self.prior.to_json(),
            "objective": objective,
            "batch": list(self.batch),
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "TrainConfig":
        """The inverse of `to_json`."""
        plugin.find(fields["policy"]["network"], NETWORKS, "network")  # imports one of a user's
        made = {
            "policy": PolicyConfig(**fields["policy"]),
            "prior": Prior.from_json(fields["prior"]),
            "batch": Batch(*fields["batch"]),
        }
        return cls(**(fields | made))


def default(
    dim: int, T: int, objective: str | Objective = "entropy-v2", network: str = "paper", steps: int = 2000
) -> TrainConfig:
    """A shorter training than the paper's, with a new kernel and function for each experiment.

    The objective is the paper's entropy with the outputs integrated out, whose gradient has less variance.
    """
    return TrainConfig(
        policy=PolicyConfig(dim, T, network=network),
        prior=PRIORS["paper" if network == "paper" else "unit"],
        objective=objective,
        steps=steps,
        # With more inputs and queries the losses jump up again and again at more than this.
        lr=5e-4 if dim == 1 else 2e-4,
    )


def paper(
    dim: int, T: int, objective: str | Objective = "entropy", network: str = "paper", myopic: bool = False
) -> TrainConfig:
    """The paper's recipe: its network, prior, batch and number of steps.

    25 kernels x 25 functions x 10 noise draws, 20,000 steps, 10,000 for the regularised objectives. A
    myopic batch has 250 kernels, in chunks of one history size each.
    """
    regularized = isinstance(objective, str) and objective.startswith("regularized")
    return TrainConfig(
        policy=PolicyConfig(dim, T, network=network),
        prior=PRIORS["paper"],
        objective=objective,
        myopic=myopic,
        batch=Batch(250, 5, 5) if myopic else Batch(25, 25, 10),
        steps=10_000 if regularized else 20_000,
        lr=1e-3,
    )
