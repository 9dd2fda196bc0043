"""What can happen to an experiment: each change is written as data and applied, now or after a restart."""

import io
from typing import Any

import numpy as np

import alx
from alx.serve.shapes import MAX_POINTS

__all__ = ["ACTIONS", "apply"]


def _ask(learner: alx.Learner, body: dict) -> dict:
    n = int(body.get("n", 1))
    _limit(learner.spent + n)
    return {"x": np.atleast_2d(learner.ask(n)).tolist()}


def _tell(learner: alx.Learner, body: dict) -> dict:
    _limit(_told(learner) + 1)
    apply(learner, "tell", body)
    return body


def _fail(learner: alx.Learner, body: dict) -> dict:
    count = len(learner.outputs)
    return _tell(learner, {"x": body["x"], "y": None if count == 1 else [None] * count})


def _forget(learner: alx.Learner, body: dict) -> dict:
    apply(learner, "forget", body)
    return body


def _extend(learner: alx.Learner, body: dict) -> dict:
    if learner.budget is None:
        raise ValueError("the experiment has no budget that could be extended")
    _limit(learner.budget + int(body["n"]))
    apply(learner, "extend", body)
    return body


def _csv(learner: alx.Learner, body: dict) -> dict:
    lines = sum(1 for line in body["text"].splitlines() if line.strip())
    _limit(_told(learner) + lines - 1)  # one of them may be the header
    apply(learner, "csv", body)
    return body


def _told(learner: alx.Learner) -> int:
    return learner.spent - len(learner.pending)


def _limit(points: int) -> None:
    if points > MAX_POINTS:
        raise ValueError(f"an experiment has at most {MAX_POINTS} points here, and this would make {points}")


# A request -> how it is kept: name of the change and its data. The change has been applied then.
ACTIONS = {
    "ask": ("expect", _ask),
    "tell": ("tell", _tell),
    "fail": ("tell", _fail),
    "forget": ("forget", _forget),
    "extend": ("extend", _extend),
    "csv": ("csv", _csv),
}


def apply(learner: alx.Learner, change: str, data: dict) -> None:
    """Make a change to the learner, which is as it was when this raises a ValueError."""
    if change == "expect":
        learner.expect(data["x"])
    elif change == "tell":
        asked = None if "asked" not in data else _row(learner, data["asked"])
        y = _outputs(data["y"])
        learner.tell(_row(learner, data["x"]), y, asked=asked, repeat=data.get("repeat", False))
    elif change == "forget":
        learner.forget(None if "x" not in data else _row(learner, data["x"]))
    elif change == "extend":
        learner.extend(int(data["n"]))
    elif change == "csv":
        learner.from_csv(io.StringIO(data["text"]))
    else:
        raise ValueError(f"a change is of a kind that this alx does not know: {change[:40]!r}")


def _row(learner: alx.Learner, values: list) -> list:
    if len(values) != len(learner.inputs):
        names = ", ".join(each.name for each in learner.inputs)
        raise ValueError(f"x must have one value for each of {names}, got {len(values)}")
    return values


def _outputs(y: Any) -> Any:
    if isinstance(y, list):
        return np.array([[np.nan if each is None else each for each in y]], float)
    return np.nan if y is None else float(y)
