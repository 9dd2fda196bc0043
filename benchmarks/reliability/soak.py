"""A learner in one process for a very long time: memory, latency and compilations must stay as they were.

python -m benchmarks.reliability.soak --steps 100000
"""

import dataclasses
import os
import resource
import time
from pathlib import Path

import numpy as np
import tyro

import alx
from alx.io.store import GENERAL
from benchmarks.speed.timing import count_compilations

THOUSAND = 1000


@dataclasses.dataclass(frozen=True)
class Soak:
    """What was measured; a step is an ask and a tell.

    Attributes:
        steps: how many.
        experiments: over how many learners.
        start_mb: resident memory after the first thousand steps.
        end_mb: resident memory at the end.
        first_ms: median and 99th percentile of the first thousand steps after the first experiment.
        last_ms: the same of the last thousand.
        compilations: after the first experiment.
    """

    steps: int
    experiments: int
    start_mb: float
    end_mb: float
    first_ms: np.ndarray
    last_ms: np.ndarray
    compilations: int


def soak(steps: int, policy: str = GENERAL) -> Soak:
    """Run experiments one after the other, each with a function of its own."""
    loaded = alx.load(policy)
    _experiment(loaded, 0)  # it compiles
    times, experiments, start = [], 0, 0.0
    with count_compilations() as compilations:
        while len(times) < steps:
            experiments += 1
            times += _experiment(loaded, experiments)[: steps - len(times)]
            if not start and len(times) >= THOUSAND:
                start = _resident_mb()
    first, last = (1e3 * np.quantile(part, [0.5, 0.99]) for part in (times[:THOUSAND], times[-THOUSAND:]))
    return Soak(len(times), experiments, start, _resident_mb(), first, last, len(compilations))


def _experiment(policy: alx.Policy, number: int) -> list[float]:
    """Seconds of each step."""
    learner, times = alx.Learner(policy, [(-5, 10), (0, 15)], budget=21), []
    while learner.remaining:
        begin = time.perf_counter()
        x = learner.ask()
        learner.tell(x, float(np.sin(x[0] + number) * x[1]))
        times.append(time.perf_counter() - begin)
    return times


def _resident_mb() -> float:
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10  # the most so far, elsewhere


def main(steps: int = 100_000) -> None:
    """Soak and print.

    Args:
        steps: how many asks and tells.
    """
    found = soak(steps)
    print(f"{found.steps:,} steps of {found.experiments:,} experiments, {found.compilations} compilations")
    print(f"resident: {found.start_mb:.0f} MB at the start, {found.end_mb:.0f} MB at the end")
    for name, (median, p99) in (("first", found.first_ms), ("last", found.last_ms)):
        print(f"{name} thousand: median {median:.3f} ms, p99 {p99:.3f} ms")


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
