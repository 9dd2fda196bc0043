"""Functions of the package uqtestfuns (extra ``bench``, MIT licence) with one to six inputs, with noise."""

import functools
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.evaluation.data import Unavailable
from benchmarks.evaluation.tasks import Task, from_box

__all__ = ["SUITE", "TASKS"]

# All that have one output and between one and six inputs, but SolarCell, which takes minutes.
FUNCTIONS = (
    *("CurrinSine", "DampedCosine", "Forrester1D", "GramacySine", "HigdonSine", "HolsclawSine", "Oakley1D"),
    *("Alemazkoor2D", "CantileverBeam2D", "Cheng2D", "ConvexFailDomain", "FourBranch"),
    *("Franke1", "Franke2", "Franke3", "Franke4", "Franke5", "Franke6"),
    *("GaytonHat", "HyperSphere", "LimNonPoly", "LimPoly"),
    *("McLainS1", "McLainS2", "McLainS3", "McLainS4", "McLainS5"),
    *("RSCircularBar", "RSCircularPipeCrack", "RSQuadratic", "Webster2D"),
    *("DetteCurved", "DetteExp", "Ishigami", "Moon3D", "Portfolio3D"),
    *("RSSpeedReducerShaft", "Friedman6D", "OTLCircuit", "UndampedOscillator"),
)
# One of each kind, so that a run ends within half an hour.
SUITE = (
    *("Forrester1D", "GramacySine", "DampedCosine", "Franke1", "Franke2", "LimNonPoly", "CantileverBeam2D"),
    *("Ishigami", "DetteCurved", "RSSpeedReducerShaft", "OTLCircuit"),
)
TAIL = 0.005  # an input without bounds runs over the middle 99 % of its distribution


def _make(name: str) -> Task:
    if importlib.util.find_spec("uqtestfuns") is None:
        raise Unavailable(f"{name}: not without the package uqtestfuns; pip install uqtestfuns.")
    function = getattr(importlib.import_module("uqtestfuns"), name, None)
    if function is None:
        raise Unavailable(f"{name}: the installed uqtestfuns does not have it; pip install -U uqtestfuns.")
    function = function()
    marginals = function.prob_input.marginals
    inputs = tuple(marginal.name for marginal in marginals)
    return from_box(name, [_range(marginal) for marginal in marginals], function, inputs=inputs)


def _range(marginal: Any) -> tuple[float, float]:
    if marginal.distribution == "uniform":
        return float(marginal.lower), float(marginal.upper)
    low, high = marginal.icdf(np.array([TAIL, 1 - TAIL]))
    return float(low), float(high)


TASKS: dict[str, Callable[[], Task]] = {
    name: functools.cache(functools.partial(_make, name)) for name in FUNCTIONS
}
