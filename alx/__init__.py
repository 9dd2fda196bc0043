"""Amortized active learning: a policy trained on simulated functions says where to measure next.

learner = alx.Learner(bounds=[(-5, 10), (0, 15)], budget=20)
while learner.remaining:
    x = learner.ask()
    learner.tell(x, measure(x))
"""

from alx.belief import Belief, believe
from alx.history import History
from alx.io.store import load, save, shipped
from alx.learner.goals import Error, Points, Time
from alx.learner.inputs import Choice, Integer, Real
from alx.learner.learner import Learner
from alx.learner.outputs import Output
from alx.network.policy import Policy, PolicyConfig
from alx.places import interval, predict
from alx.propose import propose, propose_batch, propose_from_pool
from alx.version import __version__

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
    "interval",
    "load",
    "predict",
    "propose",
    "propose_batch",
    "propose_from_pool",
    "save",
    "shipped",
]
