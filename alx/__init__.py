"""Amortized active learning: a policy trained on simulated functions says where to measure next.

In your own units:

    learner = alx.Learner(bounds=[(-5, 10), (0, 15)], budget=20)
    while learner.remaining:
        x = learner.ask()
        learner.tell(x, measure(x))
"""

from importlib.metadata import version
from pathlib import Path

from alx.belief import Belief, believe
from alx.belief.predict import interval, predict
from alx.history import History
from alx.io.export import to_jax, to_onnx
from alx.io.files import write_bytes
from alx.io.store import load, save, shipped
from alx.learner.goals import Error, Points, Time
from alx.learner.inputs import Choice, Integer, Real
from alx.learner.learner import Learner
from alx.learner.outputs import Output
from alx.network.policy import Policy, PolicyConfig
from alx.propose import exportable, propose, propose_batch, propose_from_pool

__all__ = [
    "Belief",
    "Choice",
    "Error",
    "History",
    "Integer",
    "Learner",
    "Output",
    "Points",
    "Policy",
    "PolicyConfig",
    "Real",
    "Time",
    "__version__",
    "believe",
    "export",
    "interval",
    "load",
    "predict",
    "propose",
    "propose_batch",
    "propose_from_pool",
    "save",
    "shipped",
]


__version__ = version("alx")


def export(policy: Policy, path: str | Path, dim: int | None = None, capacity: int | None = None) -> None:
    """Write `propose` for one policy as a file that runs without alx; see `alx.io.export`.

    Args:
        policy: the policy.
        path: the file; with the ending .onnx an ONNX model, otherwise a jax.export artefact.
        dim: the number of inputs; required for the general policy, known for others.
        capacity: the number of points it takes; required for the general policy, by default as many as
            others were trained for.
    """
    convert = to_onnx if Path(path).suffix == ".onnx" else to_jax
    write_bytes(path, convert(*exportable(policy, dim, capacity)))
