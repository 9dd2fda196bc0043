"""The processes that are killed: training, evaluating, and a loop of ask, measure, tell and save.

They are forked from one that has imported everything but never touched a device, which makes a start cheap.
"""

import contextlib
import dataclasses
import os
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from multiprocessing.context import ForkContext, ForkProcess
from pathlib import Path

import jax
from safetensors.numpy import load_file

import alx
import evaluate
from alx.train import cli, run
from benchmarks.evaluation import rows

__all__ = ["VICTIMS", "Victim", "finished", "start"]

TRAIN = "--dim 1 --T 2 --network paper --batch 4 1 1 --steps 1000"
EVALUATE = "--suite sin --methods random,sobol --seeds 60 --budget 2"
EXPERIMENTS = 12


@dataclasses.dataclass(frozen=True)
class Victim:
    """A process that can be killed at any moment.

    Attributes:
        work: starts or continues in a directory, to the same end.
        progress: what has been finished in the directory, in order; a kill may not take anything from it.
        result: what must be the same however often it was killed. It fails if a file is not whole.
    """

    work: Callable[[Path], object]
    progress: Callable[[Path], list]
    result: Callable[[Path], object]


def start(victim: Victim, out: Path, cache: Path) -> ForkProcess:
    """The process, with the compiled programs of those before it."""
    process = ForkContext().Process(target=_work, args=(victim, out, cache))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jax warns of forks; no thread of it runs here yet
        process.start()
    return process


def finished(process: ForkProcess, before: list, after: list, tally: Counter) -> bool:
    """Whether the process had finished before it was killed; if not, the kill is counted, and what it took.

    ``before`` and ``after`` are the victim's progress when the process started and when it had ended.
    """
    tally["lost"] += after[: len(before)] != before
    if process.exitcode == 0:
        return True
    if process.exitcode != -signal.SIGKILL:
        raise RuntimeError(f"it ended by itself with {process.exitcode}")
    tally["kills"] += 1
    tally["kills in the middle of work"] += len(after) > len(before)
    return False


def _work(victim: Victim, out: Path, cache: Path) -> None:
    # A commit made meanwhile would be a difference.
    os.environ |= {"XDG_CACHE_HOME": str(cache), "GIT_DIR": str(cache / "none")}
    jax.config.update("jax_compilation_cache_dir", str(cache / "alx/jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
        code = victim.work(out)
    os._exit(code if isinstance(code, int) else 0)


def _train(out: Path) -> int:
    how = ["--resume", str(out)] if out.exists() else [*TRAIN.split(), "--out", str(out)]
    sys.argv = ["train.py", *how, "--devices", "1"]  # on another number of them the last bits differ
    return cli.main()


def _epochs(out: Path) -> list[int]:
    """The steps that whole checkpoints have behind them."""
    names = [path.name for path in (out / "checkpoints").glob("*")]
    return [*range(50, max((int(name) for name in names if name.isdigit()), default=0) + 1, 50)]


def _trained(out: Path) -> tuple:
    load_file(out / run.POLICY)
    epochs = [{**epoch, "seconds": 0} for epoch in run.read_metrics(out)]
    return epochs, (out / run.POLICY).read_bytes(), (out / "curve.png").read_bytes()


def _evaluate(out: Path) -> None:
    sys.argv = ["evaluate.py", *EVALUATE.split(), "--out", str(out)]
    evaluate.main()


def _rows(out: Path) -> list[dict]:
    times = {"query_seconds": None, "compile_seconds": None, "environment": None}
    return [row | times for row in rows.read(out / "rows.jsonl")]


def _evaluated(out: Path) -> list[dict]:
    found = _rows(out)
    assert (out / "report.html").read_text().endswith("</html>\n")
    assert (out / "rows.csv").read_text().count("\n") == 1 + 3 * len(found)
    return found


def _tell(out: Path) -> None:
    """Experiments one after the other, each saved after every measurement."""
    out.mkdir(exist_ok=True)
    for number in range(EXPERIMENTS):
        path = out / f"{number:03}"
        new = alx.Learner(bounds=[(-5, 10), (0, 15)], budget=21)
        learner = alx.Learner.load(path) if path.exists() else new
        while learner.remaining or len(learner.pending):
            x = learner.pending[0] if len(learner.pending) else learner.ask()
            learner.tell(x, float(x[0] * x[1] + number))
            learner.save(path)


def _told(out: Path) -> list:
    experiments = [load_file(path) for path in sorted(out.glob("[0-9]*"))]
    return [
        pair for e in experiments for pair in zip(e["x"].tolist(), e["y"].tolist(), strict=True)
    ]  # a file that is not whole does not load


VICTIMS = {
    "telling": Victim(_tell, _told, _told),
    "training": Victim(_train, _epochs, _trained),
    "evaluating": Victim(_evaluate, _rows, _evaluated),
}
