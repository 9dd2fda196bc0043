"""What could betray a user overnight, tried many times: ``python -m benchmarks.reliability kills``, ...

Every part prints a count of what happened and ends with exit code 1 if anything was lost, crashed or wrong.
"""

import tempfile
from collections import Counter
from pathlib import Path

import tyro

GOOD = {"kills", "kills in the middle of work", "finished runs", "hidden drafts left"}
GOOD |= {"refused", "unharmed", "read", "told", "processes with an error"}


def kills(count: int = 50, seed: int = 0) -> Counter:
    """Kill training, evaluating and telling a learner at random moments, and resume each."""
    from benchmarks.reliability.kills import kill_and_resume
    from benchmarks.reliability.victim import VICTIMS

    total = Counter()
    for part, (name, victim) in enumerate(VICTIMS.items()):
        own = count // len(VICTIMS) + (part < count % len(VICTIMS))
        with tempfile.TemporaryDirectory() as directory:
            tally = kill_and_resume(victim, Path(directory), own, seed + part)
        show(name, tally)
        total += tally
    return total


def damage(count: int = 10_000, seed: int = 0) -> Counter:
    """Cut every kind of file at every length, flip bits of it, and give it to the readers of the others."""
    from benchmarks.reliability import damage as files

    total = Counter()
    with tempfile.TemporaryDirectory() as directory:
        for name, kind in files.KINDS.items():
            cut = files.truncations(kind, Path(directory))
            show(f"{name}, cut at every length", cut)
            flipped = files.flips(kind, Path(directory), count, seed)
            show(f"{name}, flipped bits", flipped)
            total += cut + flipped
        swapped = files.swaps(Path(directory))
    show("each for every other", swapped)
    return total + swapped


def checkpoints(count: int = 10_000, seed: int = 0) -> Counter:
    """Flip bits of the files of a checkpoint, or cut them short."""
    from benchmarks.reliability import checkpoints as part

    with tempfile.TemporaryDirectory() as directory:
        tally = part.damage(count, seed, Path(directory))
    show("checkpoint", tally)
    return tally


def run_kills(count: int = 50, seed: int = 0) -> Counter:
    """Kill `Learner.run` with four workers at random moments, and go on from its file."""
    from benchmarks.reliability.learner_file import kill_runs

    with tempfile.TemporaryDirectory() as directory:
        tally = kill_runs(Path(directory), count, seed)
    show("run with four workers", tally)
    return tally


def two_tellers(points: int = 200) -> Counter:
    """Two processes tell one learner's file so many points each."""
    from benchmarks.reliability.learner_file import tell_twice

    with tempfile.TemporaryDirectory() as directory:
        tally = tell_twice(Path(directory), points)
    show("two processes on one file", tally)
    return tally


def show(name: str, tally: Counter) -> None:
    """Print a line."""
    print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in tally.items()), flush=True)


def main() -> None:
    """Run one part."""
    parts = {
        "kills": kills,
        "run-kills": run_kills,
        "two-tellers": two_tellers,
        "damage": damage,
        "checkpoints": checkpoints,
    }
    tally = tyro.extras.subcommand_cli_from_dict(
        parts, prog="python -m benchmarks.reliability", description=__doc__
    )
    bad = Counter({what: count for what, count in tally.items() if what not in GOOD and count})
    show("lost, crashed or wrong", bad or Counter({"in all": 0}))
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
