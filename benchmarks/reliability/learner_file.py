"""A learner's file under attack: `run` killed at any moment, two processes telling at once."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

import alx
from benchmarks.reliability.victim import Victim, finished, start

__all__ = ["kill_runs", "tell_twice"]

BOX = [(0.0, 1.0)] * 2
WORKERS, BUDGET = 4, 40
MEASURING = 0.05  # seconds that a measurement takes
LIMIT = 600  # seconds; nothing here takes as long


def _file(out: Path) -> Path:
    return out / "state"


def _run(out: Path) -> None:
    """Begin the run or go on with it; each measurement is noted in the log of this leg when it begins."""
    log = out / f"leg-{len([*out.glob('leg-*')]):03}"
    log.touch()

    def measure(x: np.ndarray) -> float:
        with log.open("a") as file:
            file.write(f"{float(x[0]).hex()} {float(x[1]).hex()}\n")
        time.sleep(MEASURING)
        return float(x.sum())

    with ThreadPoolExecutor(WORKERS) as executor:
        alx.Learner(bounds=BOX, budget=BUDGET).run(measure, executor=executor, save=_file(out))


def _told(out: Path) -> list[tuple[float, ...]]:
    path = _file(out)  # a file that is not whole does not load
    return [tuple(row) for row in load_file(path)["x"].tolist()] if path.exists() else []


def _measured(log: Path) -> list[tuple[float, ...]]:
    # The last line may be cut short by a kill.
    lines = [line.split() for line in log.read_text().split("\n")[:-1]]
    return [tuple(map(float.fromhex, line)) for line in lines]


def kill_runs(directory: Path, kills: int, seed: int) -> Counter:
    """Runs that are killed and started again, until there were ``kills``; each ends undisturbed."""
    rng, tally, runs = np.random.default_rng(seed), Counter(), 0
    victim = Victim(_run, _told, _told)
    while tally["kills"] < kills:
        out, runs = directory / f"run-{runs}", runs + 1
        out.mkdir()
        while not _leg(victim, out, directory / "cache", tally["kills"] < kills, rng, tally):
            pass
        final = _told(out)
        tally["finished runs"] += 1
        tally["wrong results"] += len(set(final)) != BUDGET or len(final) != BUDGET
    return tally


def _leg(victim: Victim, out: Path, cache: Path, kill: bool, rng, tally: Counter) -> bool:
    """Start or go on, and kill some time after the first new point; returns whether it had finished."""
    before = _told(out)
    process = start(victim, out, cache)
    moment = rng.uniform(0, 4 * MEASURING)
    while kill and process.is_alive() and len(_told(out)) <= len(before):
        time.sleep(0.01)
    process.join(moment if kill else LIMIT)
    process.kill()
    process.join()
    after, log = _told(out), sorted(out.glob("leg-*"))[-1]
    begun = _measured(log)
    tally["measured again"] += len(set(begun) & set(before)) + len(begun) - len(set(begun))
    # A point told in the moment between its tell and its save is under way, too.
    tally["too many under way"] += len(set(begun) - set(after)) > WORKERS
    return finished(process, before, after, tally)


def tell_twice(directory: Path, points: int) -> Counter:
    """Two processes that tell one file so many points each, one at a time and saving after each."""

    def work(number: int, out: Path) -> None:
        learner = alx.Learner.load(_file(out))
        for i in range(points):
            x = [(i + 0.5) / points, 0.25 + 0.5 * number]
            learner.tell(x, float(number))
            learner.save(_file(out))

    alone = start(Victim(_empty, _told, _told), directory, directory / "cache")
    alone.join(LIMIT)
    both = [
        start(Victim(lambda out, n=n: work(n, out), _told, _told), directory, directory / "cache")
        for n in (0, 1)
    ]
    for process in both:
        process.join(LIMIT)
        process.kill()
        process.join()
    told = _told(directory)
    wanted = {((i + 0.5) / points, 0.25 + 0.5 * number) for i in range(points) for number in (0, 1)}
    refused = sum(process.exitcode != 0 for process in both)
    lost = len(wanted - set(told)) if not refused else 0
    tally = {"told": len(told), "processes with an error": refused, "lost": lost}
    return Counter(tally | {"twice": len(told) - len(set(told))})


def _empty(out: Path) -> None:
    alx.Learner(bounds=BOX).save(_file(out))
