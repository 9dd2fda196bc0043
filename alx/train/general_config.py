"""What decides the result of training a judge: the cases it is for, what it is trained on, and how."""

import dataclasses
from typing import Any, NamedTuple

from alx.network.score_network import JudgeConfig
from alx.train.prior import PRIORS, Prior

__all__ = ["GeneralConfig", "Shape", "default", "with_steps"]

RANGES = ("dim", "T", "n_init")
DIMS, SIZES = 6, 3  # numbers of inputs and of points that stand for a range
LARGEST_SIZE = 40  # points in simulated experiments; more of them cost much and teach little more
JUDGE = JudgeConfig()


class Shape(NamedTuple):
    """Experiments that are compiled together: number of inputs, and of points at the end."""

    dim: int
    capacity: int


@dataclasses.dataclass(frozen=True)
class GeneralConfig:
    """All that decides the result of training a judge. A range is its least and its greatest number.

    Attributes:
        dim: number of inputs, or a range.
        T: number of queries, or a range.
        n_init: number of points given before the first query, or a range.
        judge: the network.
        prior: where kernels and noise come from.
        forms: share of experiments whose function no kernel drew, see `alx.train.closed_forms`.
        outliers: share of experiments whose noise has heavy tails.
        start: a shipped name or a policy file, from whose weights to start; None: fresh ones.
        batch: experiments in a step.
        chunk: experiments that are played together; all of them start with the same number of points.
        steps: how many steps for the judge.
        deviation_steps: how many more for the calibrated deviation.
        lr: initial learning rate.
        left: what is left of the learning rate at the end of the judge's steps, and again of the deviation's.
        clip: largest global norm of a gradient.
        seed: seed of everything random.
    """

    dim: tuple[int, ...]
    T: tuple[int, ...]
    n_init: tuple[int, ...] = (1,)
    judge: JudgeConfig = JUDGE
    prior: Prior = PRIORS["general"]
    forms: float = 0.4
    outliers: float = 0.08
    start: str | None = None
    batch: int = 128
    chunk: int = 32
    steps: int = 300
    deviation_steps: int = 300
    lr: float = 2e-3
    left: float = 0.05
    clip: float = 1.0
    seed: int = 0

    def __post_init__(self):
        for name, least in (("dim", 1), ("T", 1), ("n_init", 0)):
            value = getattr(self, name)
            if not (1 <= len(value) <= 2 and least <= min(value) and list(value) == sorted(value)):
                raise ValueError(
                    f"{name} must be a whole number of at least {least}, or two, LOW HIGH, got {value}"
                )
        for name, least in (("batch", 1), ("chunk", 1), ("steps", 0), ("deviation_steps", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name in ("lr", "clip"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be a positive number, got {getattr(self, name)}")
        for name in ("forms", "outliers"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be a share between 0 and 1, got {getattr(self, name)}")
        if not self.steps + self.deviation_steps:
            raise ValueError("steps and deviation_steps must not both be 0: there is nothing to train")
        if not 0 < self.left <= 1:
            raise ValueError(f"left must be above 0 and at most 1, got {self.left}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be between 0 and 2^32 - 1, got {self.seed}")

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of a range a few numbers stand for all: the steps take turns, and each is compiled."""
        dims = _some(self.dim[0], self.dim[-1], DIMS)
        # Even the smallest has room for as many given points as queries, where so many may be given.
        least = self.T[0] + max(self.n_init[0], min(self.T[0], self.n_init[-1]))
        sizes = _some(least, min(self.T[-1] + self.n_init[-1], max(least, LARGEST_SIZE)), SIZES)
        return tuple(Shape(d, size) for size in sizes for d in dims)

    @property
    def judge_shapes(self) -> tuple[Shape, ...]:
        """Those the judge is trained on: with one input a function is known long before so many points."""
        largest = self.shapes[-1].capacity
        few = tuple(shape for shape in self.shapes if shape.dim > 1 or shape.capacity < largest)
        return few or self.shapes

    def to_json(self) -> dict[str, Any]:
        """What makes the same config again, in another process."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        ranges = {name: list(fields[name]) for name in RANGES}
        return fields | ranges | {"judge": dataclasses.asdict(self.judge), "prior": self.prior.to_json()}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "GeneralConfig":
        """The inverse of `to_json`."""
        ranges: dict[str, Any] = {name: tuple(fields[name]) for name in RANGES}
        made: dict[str, Any] = {
            "judge": JudgeConfig(**fields["judge"]),
            "prior": Prior.from_json(fields["prior"]),
        }
        return cls(**(fields | ranges | made))


def _some(low: int, high: int, number: int) -> list[int]:
    """At most so many whole numbers from low to high, evenly by their ratios."""
    return sorted({round(low * (high / low) ** (i / max(number - 1, 1))) for i in range(number)})


def default(dim: tuple[int, ...], T: tuple[int, ...], n_init: tuple[int, ...] = (1,)) -> GeneralConfig:
    """What alx trains unless told otherwise; ranges take longer."""
    ranges = any(len(each) > 1 for each in (dim, T, n_init))
    return with_steps(GeneralConfig(dim, T, n_init), 1200 if ranges else 300)


def with_steps(config: GeneralConfig, steps: int) -> GeneralConfig:
    """With so many steps for the judge, and half as many, which take as long, for the deviation."""
    return dataclasses.replace(config, steps=steps, deviation_steps=steps // 2 or config.deviation_steps)
