"""The trainer of rollouts: simulated experiments, an objective, and validation with the true theta."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from jax import Array
from jax.sharding import Mesh

from alx.network.policy import Params, Policy
from alx.train import step
from alx.train.config import TrainConfig
from alx.train.objectives import CONTRASTIVE
from alx.train.step import State

__all__ = ["RolloutTrainer"]


@dataclasses.dataclass(frozen=True)
class RolloutTrainer:
    """What `alx.train.run` needs, of a `TrainConfig`."""

    config: TrainConfig

    @property
    def steps(self) -> int:
        return self.config.steps

    @property
    def seed(self) -> int:
        return self.config.seed

    @property
    def start(self) -> str | None:
        return self.config.start

    @property
    def phases(self) -> list[tuple[str, int]]:
        """What is minimised, each up to a step."""
        name = self.config.objective
        return [(name if isinstance(name, str) else name.__name__, self.steps)]

    def policy(self, params: Params) -> Policy:
        return Policy(params, self.config.policy)

    def initial_state(self, mesh: Mesh, params: Params | None) -> State:
        return step.initial_state(self.config, mesh, params)

    def make_step(self, mesh: Mesh) -> Callable[[State], tuple[State, dict[str, Array]]]:
        return step.make_step(self.config, mesh)

    def make_validation(self, mesh: Mesh) -> Callable[[Params], dict[str, float]]:
        """RMSE of the policy and of uniform queries, and the bound of the loss if it has one."""
        rmse, rmse_uniform = step.make_validation(self.config, mesh)
        same = {}  # for all params

        def validate(params: Params) -> dict[str, float]:
            if not same:
                same["rmse_uniform"] = float(rmse_uniform(params))
                if self.config.objective == "dad":
                    same["loss_bound"] = -math.log(CONTRASTIVE + 1)
            return {"rmse": float(rmse(params)), **same}

        return validate

    def to_json(self) -> dict[str, Any]:
        return self.config.to_json()

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "RolloutTrainer":
        return cls(TrainConfig.from_json(fields))
