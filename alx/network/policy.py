"""The policy phi: the set of points measured so far -> the next input.

Arrays lead with what a single experiment has and trail with experiments: inputs ``x [D, n, ...]``,
outputs ``y [n, ...]``, tokens ``[width, n, ...]``. Every dense layer is then one matrix product however
many experiments run at once. A network works in two halves, so that a rollout and a learner encode each
point only once: ``encode`` maps points to whatever the network keeps of them, ``decide`` maps the set of
kept points to the next input.
"""

import dataclasses
import functools
import sys
from typing import Any, cast

import jax
from flax import nnx, struct
from jax import Array

from alx.network.deviation import Calibration
from alx.network.paper import PaperNetwork
from alx.network.score_network import Judge, JudgeConfig
from alx.network.sight import Scene

__all__ = ["NETWORKS", "Policy", "PolicyConfig", "apply", "decide", "deviation", "encode", "init", "score"]

Params = Any  # a nested dict of arrays
NETWORKS: dict[str, type[nnx.Module]] = {"paper": PaperNetwork}


@dataclasses.dataclass(frozen=True)
class PolicyConfig:
    """What the network looks like and what it was made for.

    Attributes:
        dim: number of inputs D.
        T: number of queries it is trained for.
        n_init: number of labelled points given before the first query.
        network: paper, or module:name of a class of your own.
    """

    dim: int
    T: int
    n_init: int = 1
    network: str = "paper"

    def __post_init__(self):
        if not (isinstance(self.dim, int) and self.dim >= 1):
            raise ValueError(f"dim must be a whole number of at least 1, got {self.dim}")
        if not (isinstance(self.T, int) and self.T >= 1):
            raise ValueError(f"T must be a whole number of at least 1, got {self.T}")
        if not (isinstance(self.n_init, int) and self.n_init >= 0):
            raise ValueError(f"n_init must be a whole number of at least 0, got {self.n_init}")
        _class_of(self)

    @property
    def capacity(self) -> int:
        """Points in a full history: the initial ones and T queries."""
        return self.n_init + self.T


@struct.dataclass
class Policy:
    """A trained network: a pytree whose leaves are the weights; the config is static."""

    params: Params
    config: PolicyConfig | JudgeConfig = struct.field(pytree_node=False)


def init(key: Array, config: PolicyConfig | JudgeConfig) -> Params:
    """Fresh weights."""
    return nnx.to_pure_dict(nnx.state(_class_of(config)(config, nnx.Rngs(params=key))))


def encode(params: Params, config: PolicyConfig, x: Array, y: Array) -> Any:
    """What the network keeps of points ``x [D, ...]``, ``y [...]``: a pytree of ``[width, ...]``."""
    return _network(params, config).encode(x, y)


def decide(params: Params, config: PolicyConfig, points: Any, mask: Array) -> Array:
    """The next input ``[D, ...]`` from encoded points ``[width, n, ...]`` and their mask ``[n, ...]``."""
    return _network(params, config).decide(points, mask)


def apply(params: Params, config: PolicyConfig, x: Array, y: Array, mask: Array) -> Array:
    """The next input ``[D, ...]`` from points ``x [D, n, ...]``, ``y [n, ...]`` and their mask."""
    return decide(params, config, encode(params, config, x, y), mask)


def score(params: Params, config: JudgeConfig, scene: Scene) -> Array:
    """The scores ``[C]`` of the places of a scene."""
    return _network(params, config)(scene)


def deviation(params: Params, config: JudgeConfig, scene: Scene) -> Calibration:
    """How the belief's deviation is calibrated at each place of a scene, and its error over all of them."""
    return _network(params, config).deviation(scene)


def _class_of(config: PolicyConfig | JudgeConfig) -> Any:
    """The network's class. One of a user's has to be imported already: a policy file must not run code."""
    if isinstance(config, JudgeConfig):
        return Judge
    network = str(config.network)
    module, _, name = network.partition(":")
    found = NETWORKS.get(network, getattr(sys.modules.get(module), name, None))
    if not (isinstance(found, type) and issubclass(found, nnx.Module)):
        raise ValueError(
            f"network must be {', '.join(NETWORKS)}, or module:name of a class of nnx.Module, its module "
            f"imported, got {config.network!r}"
        )
    return found


@functools.cache
def _structure(config: PolicyConfig | JudgeConfig):
    return nnx.split(nnx.eval_shape(lambda: _class_of(config)(config, nnx.Rngs(params=0))))


def _network(params: Params, config: PolicyConfig | JudgeConfig):
    graph, abstract = _structure(config)
    state = jax.tree.map(lambda x: x, abstract)
    nnx.replace_by_pure_dict(state, params)
    return cast(Any, nnx.merge(graph, state))
