"""The methods by name: what each is called in tables, which run unless others are asked for, and where from.

``ours`` alone decides which policy the rows 'alx' and 'alx.Learner' are.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from alx.io.store import load
from alx.network.policy import Policy, init
from alx.network.score_network import JudgeConfig
from benchmarks import policies
from benchmarks.evaluation import learners, rivals
from benchmarks.evaluation.data import Unavailable
from benchmarks.evaluation.methods import Method, baselines, from_policy

__all__ = ["GROUPS", "LABELS", "OURS", "available", "label", "names", "ours", "untrained"]

LABELS = {
    "alx": "alx (known scale)",
    "learner": "alx.Learner",
    "learner-8": "alx.Learner, 8 given",
    "blind": "alx, blind (y = 0)",
    "gp-al-bayes": "alx, untrained",
    "paper-regularized-entropy": "paper: reg. entropy",
    "paper-entropy": "paper: entropy",
    "paper-myopic": "paper: myopic",
    "paper-dad": "paper: DAD",
    "gp-al": "GP AL",
    "gp-al-variance": "GP AL, int. variance",
    "botorch": "BoTorch qNIPV",
    "adaptive": "adaptive",
    "maximin": "maximin",
    "sobol": "Sobol",
    "random": "Random",
}
PAPER = ("paper-regularized-entropy", "paper-entropy", "paper-myopic", "paper-dad")
POLICIES = ("alx", "learner", "learner-8", "gp-al-bayes")
CLASSICAL = ("gp-al", "gp-al-variance", "maximin", "sobol", "random")
GROUPS = {
    "default": (*POLICIES, *PAPER, *CLASSICAL),
    "paper": PAPER,
    "classical": CLASSICAL,
    "ablation": ("blind",),
    "bench": ("botorch", "adaptive"),
}
# The same policy in other circumstances: none of them is another's rival.
OURS = ("alx", "learner", "learner-8", "blind")


def label(method: str) -> str:
    """The name of a method as people read it."""
    return LABELS.get(method, method)


def ours() -> Policy:
    """The policy that users get: the general one."""
    return load()


def untrained() -> Policy:
    """The general policy before its training, which is Bayesian GP active learning at a fixed cost."""
    config = JudgeConfig()
    # Plain arrays, as those of a policy file: whatever is compiled for that serves this one, too.
    params = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)), init(jax.random.key(0), config))
    return Policy(params, config)


def available(dim: int) -> tuple[dict[str, Method], dict[str, str]]:
    """The methods for this many inputs by name, and of each other one the reason why it cannot run."""
    makers: dict[str, Callable[[], Method]] = {
        "alx": lambda: from_policy("alx", ours()),
        "learner": lambda: learners.method("learner", ours(), given=0),
        "learner-8": lambda: learners.method("learner-8", ours(), given=8),
        "blind": lambda: from_policy("blind", ours(), blind=True),
        "gp-al-bayes": lambda: from_policy("gp-al-bayes", untrained()),
        "botorch": rivals.botorch,
        "adaptive": lambda: rivals.adaptive(dim),
    }
    for name in PAPER:
        makers[name] = lambda name=name: from_policy(name, _of_the_paper(name, dim))
    found, missing = baselines(), {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except Unavailable as reason:
            missing[name] = str(reason)
    return found, missing


def _of_the_paper(name: str, dim: int) -> Policy:
    found = next((each for each in policies.names() if each.startswith(f"{name}-dim{dim}-T")), None)
    if found is None:
        raise Unavailable("the paper's networks were trained for other numbers of inputs")
    return policies.load(found)


def names(text: str, own: list[str]) -> list[str]:
    """Names of methods from a list with commas between; a group stands for its members.

    Args:
        text: what --methods or --method says.
        own: names the user has brought along.
    """
    order = [*own, *LABELS]
    given = [name for name in text.split(",") if name]
    unknown = [name for name in given if name not in order and name not in GROUPS]
    if unknown or not given:
        known = ", ".join((*GROUPS, *order))
        raise ValueError(f"--methods has {', '.join(unknown) or 'no name'}; known are {known}.")
    wanted = {member for name in given for member in GROUPS.get(name, (name,))}
    return [name for name in order if name in wanted]
