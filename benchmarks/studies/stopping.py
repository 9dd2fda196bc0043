"""Does a run that stops at an error goal stop too early? python -m benchmarks.studies.stopping

Random functions, each with a goal of its own; the learner asks and is told, with noise of a tenth, until
``alx.Error`` says that the goal is reached. Too early is where the true error is above 1.5 times the goal.
"""

import dataclasses
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import alx
from alx.io.store import GENERAL
from alx.network.policy import Policy
from benchmarks.evaluation.methods import generator
from benchmarks.evaluation.tasks import Task
from benchmarks.studies import command, drawn
from benchmarks.studies.coverage_cells import PLACES, labels, log_rmse

__all__ = ["EARLY", "Stop", "report", "stop"]

SEED = 1
GOALS = (0.1, 0.5)  # of the deviation of the function, log-uniform
MOST = 60  # points
EARLY = 1.5  # times the goal, as in `coverage_report.NEAR`: the factor within which an estimate is to be


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Stop at error goals and look whether they were reached.

    Attributes:
        policy: a shipped name or a policy file.
        dims: numbers of inputs.
        functions: in all, equally many of each family and number of inputs.
    """

    policy: str = GENERAL
    dims: tuple[int, ...] = (1, 2, 3, 5)
    functions: int = 200


class Stop(NamedTuple):
    """How one run ended.

    Attributes:
        dim: number of inputs.
        points: how many were measured.
        reached: whether the goal was, as the learner says; else the points ran out.
        ratio: the true error over the goal.
    """

    dim: int
    points: int
    reached: bool
    ratio: float

    @property
    def early(self) -> bool:
        return self.reached and self.ratio > EARLY


def stop(policy: Policy, task: Task) -> Stop:
    """One run from nothing to its goal."""
    random = generator(task.name, SEED, task.dim, "stopping")
    goal = float(np.exp(random.uniform(*np.log(GOALS))))
    noise = task.noise * random.standard_normal(MOST)
    learner, enough = alx.Learner(policy, [(0.0, 1.0)] * task.dim), alx.Error(goal)
    for off in noise:
        x = learner.ask()
        learner.tell(x, float(labels(task, x[None])[0] + off))
        if enough.reached(learner, 0.0):
            break
    mean, _ = learner.predict(task.test_x[:PLACES])
    true = float(np.exp(log_rmse(mean, task.test_y[:PLACES])))
    return Stop(task.dim, len(learner.y), enough.reached(learner, 0.0), true / goal)


def report(stops: Sequence[Stop]) -> str:
    """A line for each number of inputs, and one for all."""
    head = f"| D | functions | stopped | too early (above {EARLY:g} times the goal) | median points |"
    lines = [head, "|---|---:|---:|---:|---:|"]
    for dim in (*dict.fromkeys(each.dim for each in stops), "all"):
        own = [each for each in stops if dim in (each.dim, "all")]
        early, reached = sum(each.early for each in own), sum(each.reached for each in own)
        median = np.median([each.points for each in own])
        lines.append(f"| {dim} | {len(own)} | {reached} | {early} | {median:g} |")
    return "\n".join(lines)


def _tasks(dims: Sequence[int], functions: int) -> list[Task]:
    families = drawn.NAMES
    each = -(-functions // (len(dims) * len(families)))
    every = [drawn.draw(family, dim, each, SEED) for dim in dims for family in families]
    # Of all in turn, so that any number of them is spread evenly.
    return [tasks[i] for i in range(each) for tasks in every][:functions]


def main() -> int:
    return command.run(Arguments, _prepare, _run)


def _prepare(arguments: Arguments) -> Policy:
    command.at_least("dims", min(arguments.dims), 1)
    command.at_least("functions", arguments.functions, 1)
    return alx.load(arguments.policy)


def _run(arguments: Arguments, policy: Policy) -> None:
    tasks = sorted(_tasks(arguments.dims, arguments.functions), key=lambda task: task.dim)
    print(report([stop(policy, task) for task in tasks]))


if __name__ == "__main__":
    sys.exit(main())
