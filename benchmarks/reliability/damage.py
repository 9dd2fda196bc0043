"""Files from strangers: every damage ends in a clear error or in the very content that was saved."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import alx
from alx.io.store import fingerprint
from alx.learner.columns import find_columns
from alx.learner.csv_table import read_csv, read_sheet
from alx.network.policy import Policy, init
from alx.network.score_network import JudgeConfig
from benchmarks.evaluation import rows
from benchmarks.evaluation.data import table

__all__ = ["KINDS", "Kind", "flips", "swaps", "truncations"]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        make: writes a good one.
        load: reads one; whatever it refuses is a ValueError of one line that names the file.
        content: what the file says: whatever is accepted must say what the good one does. None for tables,
            which are their users' own: nobody can tell a flipped digit from another number.
    """

    make: Callable[[Path], Any]
    load: Callable[[Path], Any]
    content: Callable[[Any], Any] | None = None


def _small(seed: int = 0) -> Policy:
    config = JudgeConfig(width=1)
    shapes = jax.eval_shape(lambda: init(jax.random.key(0), config))
    rng = np.random.default_rng(seed)
    return Policy(jax.tree.map(lambda leaf: jnp.asarray(rng.random(leaf.shape), jnp.float32), shapes), config)


def _make_learner(path: Path) -> None:
    learner = alx.Learner(
        _small(), [(-5, 10), (0, 15)], y_std=2.0, budget=7, pool=[[0, 0], [1, 2], [3, 4], [5, 9]]
    )
    learner.tell(learner.ask(2), [1.0, 2.0])
    learner.ask()
    learner.save(path)


def _learner_content(learner: alx.Learner) -> tuple:
    known = (learner.y_mean, learner.y_std, learner.budget, learner.remaining)
    arrays = (learner.bounds, learner.x, learner.y, learner.pending)
    return (*known, *(array.tolist() for array in arrays), fingerprint(learner.policy))


def _make_rows(path: Path) -> None:
    row = {
        "task": "sin",
        "method": "random",
        "seed": 0,
        "fingerprint": "f",
        "rmse": [1.0, 0.5],
        "y": [1.0, 2.0],
    }
    rows.append(path, [row | {"query_seconds": [0.1], "compile_seconds": 0.0, "x": [[0.2], [0.4]]}])


def _table(path: Path) -> None:
    path.write_text("a,b,y\n" + "".join(f"{i},{i * i % 7},{i * 0.5}\n" for i in range(12)))


def _read_table(path: Path) -> Any:
    sheet = read_sheet(path)
    return read_csv(sheet, *find_columns(sheet))


KINDS: dict[str, Kind] = {
    "policy file": Kind(lambda path: alx.save(path, _small(), {"seed": 3}), alx.load, fingerprint),
    "learner state": Kind(_make_learner, alx.Learner.load, _learner_content),
    "rows of an evaluation": Kind(_make_rows, rows.read),
    "CSV for evaluate.py": Kind(_table, lambda path: table(path, "y")),
    "CSV for a learner": Kind(_table, _read_table),
}


def truncations(kind: Kind, directory: Path) -> Counter:
    """Cut the file at every length."""
    good = _good(kind, directory)
    return _try(kind, directory, good, (good[:length] for length in range(len(good))))


def flips(kind: Kind, directory: Path, count: int, seed: int) -> Counter:
    """Flip between one and eight bits at random places, ``count`` times."""
    good = _good(kind, directory)
    return _try(kind, directory, good, _flipped(good, count, seed))


def swaps(directory: Path) -> Counter:
    """Give every reader every other kind of file."""
    tally = Counter()
    for name, kind in KINDS.items():
        others = [_good(other, directory) for other_name, other in KINDS.items() if other_name != name]
        tally += _try(kind, directory, _good(kind, directory), others)
    return tally


def _good(kind: Kind, directory: Path) -> bytes:
    path = directory / "good"
    path.unlink(missing_ok=True)
    kind.make(path)
    return path.read_bytes()


def _flipped(good: bytes, count: int, seed: int) -> Iterator[bytes]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        mutant = bytearray(good)
        for place in rng.integers(len(good), size=rng.integers(1, 9)):
            mutant[place] ^= 1 << int(rng.integers(8))
        yield bytes(mutant)


def _try(kind: Kind, directory: Path, good: bytes, mutants) -> Counter:
    path, tally = directory / "damaged", Counter()
    path.write_bytes(good)
    truth = _content(kind, path)
    for mutant in mutants:
        path.unlink()  # some file systems wait for the disk when a file is overwritten
        path.write_bytes(mutant)
        tally[_outcome(kind, path, truth)] += 1
    return tally


def _outcome(kind: Kind, path: Path, truth: Any) -> str:
    try:
        found = _content(kind, path)
    except ValueError as error:
        clear = str(path) in str(error) and "\n" not in str(error)
        return "refused" if clear else "refused without a clear word"
    except Exception as error:
        return f"crashed with {type(error).__name__}"
    if kind.content is None:
        return "read"
    return "unharmed" if found == truth else "wrong"


def _content(kind: Kind, path: Path) -> Any:
    found = kind.load(path)
    return kind.content(found) if kind.content else None
