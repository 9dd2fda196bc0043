"""kill -9 at random moments, each followed by a resume: nothing is lost but the unit in progress."""

import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.reliability.victim import Victim, finished, start

__all__ = ["kill_and_resume"]

LIMIT = 900  # seconds; nothing here takes as long


def kill_and_resume(victim: Victim, directory: Path, kills: int, seed: int) -> Counter:
    """Run once undisturbed, then again and again with a kill in each leg until there were ``kills``.

    One kill in four comes while the process starts, the others at any moment after its next result.
    """
    rng, tally = np.random.default_rng(seed), Counter()
    cache, whole, runs = directory / "cache", directory / "whole", 0
    first, work = _undisturbed(victim, whole, cache)
    truth = victim.result(whole)
    while tally["kills"] < kills:
        out, runs, done = directory / f"run-{runs}", runs + 1, False
        while not done:
            early, moment = rng.random() < 0.25, rng.random()
            if tally["kills"] >= kills:
                done = _leg(victim, out, cache, LIMIT, False, tally)
            elif early:
                done = _leg(victim, out, cache, moment * first, False, tally)
            else:
                done = _leg(victim, out, cache, 0.2 * moment * work, True, tally)
        tally["finished runs"] += 1
        tally["wrong results"] += victim.result(out) != truth
        tally["hidden drafts left"] += len([*out.rglob(".*.tmp"), *out.rglob("*checkpoint-tmp*")])
    return tally


def _undisturbed(victim: Victim, out: Path, cache: Path) -> tuple[float, float]:
    """Seconds to the first result and from there to the end, with everything compiled."""
    for directory in (out.with_name("warm"), out):
        begin, first = time.monotonic(), 0.0
        process = start(victim, directory, cache)
        while process.is_alive():
            if not first and victim.progress(directory):
                first = time.monotonic() - begin
            time.sleep(0.05)
        if process.exitcode:
            raise RuntimeError(f"the undisturbed run ended with {process.exitcode}")
    return first, time.monotonic() - begin - first


def _leg(victim: Victim, out: Path, cache: Path, wait: float, works: bool, tally: Counter) -> bool:
    """Start or resume, kill after so many seconds, counted from its next result if it ``works`` by then.

    Returns whether it had finished before.
    """
    before = victim.progress(out)
    process = start(victim, out, cache)
    while works and process.is_alive() and len(victim.progress(out)) == len(before):
        time.sleep(0.01)
    process.join(wait)
    process.kill()
    process.join()
    return finished(process, before, victim.progress(out), tally)
