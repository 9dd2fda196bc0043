"""What the server says of an experiment, as JSON: numbers that are not known are null."""

import io
import math
from typing import Any

import numpy as np

import alx
from alx.learner.curve import error_curve
from alx.learner.inputs import Choice
from alx.serve.experiment import Experiment, progress

__all__ = ["csv", "curve_counts", "curve_point", "error", "model", "predict", "state", "summary", "upcoming"]


def summary(experiment: Experiment) -> dict:
    """A line of the list."""
    learner, head = experiment.open(), experiment.head
    own = {"id": head["id"], "name": head["spec"]["name"], "created": head["created"]}
    return own | {"dim": len(learner.inputs)} | progress(learner, experiment.version)


def state(experiment: Experiment) -> dict:
    """All that is known without a model."""
    learner, spec = experiment.open(), experiment.head["spec"]
    columns = learner.to_columns()
    x = zip(*(columns[each.name].tolist() for each in learner.inputs), strict=True)
    y = zip(*(columns[each.name].tolist() for each in learner.outputs), strict=True)
    found = summary(experiment)
    del found["dim"]
    return found | {
        "inputs": spec["inputs"],
        "outputs": spec.get("outputs", [{"name": "y"}]),
        "constraints": spec.get("constraints", []),
        "budget": learner.budget,
        "goal": spec.get("goal"),
        "points": [{"x": list(a), "y": _told(b)} for a, b in zip(x, y, strict=True)],
        "pending": learner.pending.tolist(),
    }


def upcoming(experiment: Experiment) -> dict:
    """What ``ask`` would answer."""
    x = experiment.open().peek()
    return {"x": None if x is None else x.tolist()}


def predict(experiment: Experiment, body: dict) -> dict:
    """The model at some places."""
    learner, x = experiment.open(), body["x"]
    if odd := [row for row in x if len(row) != len(learner.inputs)]:
        raise ValueError(f"x must have {len(learner.inputs)} values for each place, got {len(odd[0])}")
    mean, sd = learner.predict(x)
    low, high = learner.interval(x, float(body.get("level", 0.9)))
    parts = {"mean": mean, "sd": sd, "low": low, "high": high}
    return {name: _nullable(values) for name, values in parts.items()}


def error(experiment: Experiment) -> dict:
    """The estimated error, and whether it is as small as wanted."""
    learner = experiment.open()
    known = _has_model(learner)
    nothing = np.full(len(learner.outputs), np.inf)
    rmse, low, high = learner.error() if known else (nothing, nothing, nothing)
    goal = experiment.head["spec"].get("goal", {}).get("error")
    parts = {"rmse": rmse, "low": low, "high": high}
    found = {name: _nullable(np.atleast_1d(values)) for name, values in parts.items()}
    return found | {"goal": goal, "reached": goal is not None and bool(np.all(np.asarray(high) <= goal))}


def curve_counts(experiment: Experiment) -> list[list[int]]:
    """For each output the numbers of points at which its error is told: all of the first, fewer later."""
    learner = experiment.open()
    y = learner.y.reshape(-1, len(learner.outputs))
    totals = (~np.isnan(y)).sum(0).tolist()
    return [
        [n for n in range(2, total + 1) if n <= 16 or (n % 4 == 0 and n <= 64) or n % 16 == 0 or n == total]
        for total in totals
    ]


def curve_point(experiment: Experiment, p: int, n: int) -> list[float | None]:
    """Error, low and high of output ``p`` after its first ``n`` points; worked out once."""
    known: dict[int, list] = experiment.curves.setdefault(p, {})
    if n not in known:
        found = error_curve(experiment.open(), p, [n])
        known[n] = [_nullable(values)[0] for values in found]
    return known[n]


def model(experiment: Experiment) -> dict:
    """The likely kernels, averaged: which inputs matter, and how large the noise is."""
    learner = experiment.open()
    if not _has_model(learner):
        raise ValueError("there is no model before each output has been measured")
    kernels = learner.model
    low, high = learner.bounds.T
    width = [
        1.0 if isinstance(each, Choice) else b - a
        for each, a, b in zip(learner.inputs, low, high, strict=True)
    ]
    names = [each.name for each in learner.outputs]
    found = []
    for name in names:
        one = kernels[name] if len(names) > 1 else kernels
        lengths = np.exp(one.weight @ np.log(one.lengthscale))
        found.append(
            {
                "name": name,
                "lengthscales": _nullable(lengths),
                "effect": _nullable(width / lengths),
                "noise_sd": _number(one.weight @ one.noise_sd),
                "signal_sd": _number(one.weight @ one.signal_sd),
            }
        )
    return {"outputs": found}


def csv(experiment: Experiment) -> str:
    """The points told as CSV."""
    text = io.StringIO()
    experiment.open().to_csv(text)
    return text.getvalue()


def _has_model(learner: alx.Learner) -> bool:
    y = learner.y.reshape(-1, len(learner.outputs))
    return len(y) > 0 and bool((~np.isnan(y)).any(0).all())


def _told(y: tuple) -> Any:
    values = [_number(each) for each in y]
    return values[0] if len(values) == 1 else values


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def _nullable(values: Any) -> Any:
    """The array as lists, with null for what is not finite."""
    array = np.asarray(values, float)
    shown = array.astype(object)
    shown[~np.isfinite(array)] = None
    return shown.tolist()
