"""From an experiment described in JSON to a learner."""

from collections.abc import Callable
from typing import Any

import numpy as np

import alx
from alx.learner.inputs import Choice, Input, Integer, Real

__all__ = ["constraint", "new_learner"]

KINDS = {"real": Real, "integer": Integer}


def new_learner(spec: dict) -> alx.Learner:
    """The learner of a checked description (see ``shapes.CREATE``)."""
    outputs = [alx.Output(**each) for each in spec.get("outputs", [{"name": "y"}])]
    inputs = [_input(each) for each in spec["inputs"]]
    return alx.Learner(inputs=inputs, outputs=outputs, constraint=constraint(spec), budget=_whole(spec))


def _whole(spec: dict) -> int | None:
    return int(spec["budget"]) if "budget" in spec else None


def _input(fields: dict) -> Input:
    kind, name = fields.get("kind", "real"), fields["name"]
    needed = {"levels"} if kind == "choice" else {"low", "high"}
    allowed = {"name", "kind", *needed} | ({"unit"} if kind != "choice" else set())
    if missing := needed - fields.keys():
        raise ValueError(f"the input {name!r} lacks {sorted(missing)[-1]!r}")
    if odd := fields.keys() - allowed:
        raise ValueError(f"the input {name!r} is {kind} and cannot have {sorted(odd)[0]!r}")
    if kind == "choice":
        return Choice(name, fields["levels"])
    low, high = fields["low"], fields["high"]
    if kind == "integer":
        low, high = (int(value) if value == int(value) else value for value in (low, high))
    return KINDS[kind](name, low, high, fields.get("unit", ""))


def constraint(spec: dict) -> Callable[[np.ndarray], Any] | None:
    """Whether rows ``[n, D]`` satisfy all the linear inequalities, None when there are none."""
    rules = spec.get("constraints", [])
    if not rules:
        return None
    kinds = {each["name"]: each.get("kind", "real") for each in spec["inputs"]}
    names = [*kinds]
    for rule in rules:
        for name in rule["coefficients"]:
            if kinds.get(name, "choice") == "choice":
                raise ValueError(f"a constraint is on inputs that are numbers, got {name[:80]!r}")
    used = sorted({names.index(name) for rule in rules for name in rule["coefficients"]})
    factors = np.array([[rule["coefficients"].get(names[d], 0.0) for d in used] for rule in rules], float)
    most = np.array([rule["at_most"] for rule in rules], float)

    def allows(rows: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.all(rows[:, used].astype(float) @ factors.T <= most, axis=1)

    return allows
