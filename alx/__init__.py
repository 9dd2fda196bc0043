"""Amortized active learning: a policy trained on simulated functions says where to measure next.

learner = alx.Learner("dim2-T20", bounds=[(-5, 10), (0, 15)])
for _ in range(20):
    x = learner.ask()
    learner.tell(x, measure(x))
"""

from alx.belief import Belief, believe
from alx.history import History
from alx.io.store import load, save, shipped
from alx.learner.learner import Learner
from alx.network.policy import Policy, PolicyConfig
from alx.places import interval, predict
from alx.propose import propose, propose_batch, propose_from_pool
from alx.version import __version__

__all__ = [
    "Belief",
    "History",
    "Learner",
    "Policy",
    "PolicyConfig",
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
