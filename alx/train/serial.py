"""Distributions and kernels of a prior as JSON and as words: the class and the numbers."""

import dataclasses
import inspect
from typing import Any

import numpy as np
import numpyro.distributions as dist
import tinygp
from tinygp.kernels.distance import Distance

from alx.train import plugin

__all__ = [
    "distribution_from_json",
    "distribution_from_words",
    "distribution_to_json",
    "distribution_to_words",
    "kernel_from_json",
    "kernel_to_json",
]


def distribution_to_json(distribution: dist.Distribution) -> dict[str, Any]:
    """Its class, by its name in `numpyro.distributions`, and its parameters."""
    name = type(distribution).__name__
    names = distribution.arg_constraints
    parameters: dict[str, Any] = {key: getattr(distribution, key, None) for key in names}
    made_of = inspect.signature(type(distribution).__init__).parameters.values()
    needed = {each.name for each in made_of if each.default is each.empty} - {"self"}
    whole = needed <= parameters.keys() and all(map(_is_number, parameters.values()))
    if not (hasattr(dist, name) and whole):
        raise ValueError(f"{distribution!r} is not made of a distribution of numpyro and numbers")
    return {"distribution": name, **{key: float(value) for key, value in parameters.items()}}


def distribution_from_json(fields: dict[str, Any]) -> dist.Distribution:
    """The inverse of `distribution_to_json`."""
    parameters = dict(fields)
    return _distribution(parameters.pop("distribution"))(**parameters)


def distribution_to_words(distribution: dist.Distribution) -> list[str]:
    """As on the command line: ``LogNormal -1 1``."""
    name, *numbers = distribution_to_json(distribution).values()
    if name == "Delta":  # its second number is the density it stands for, 0 but in numpyro itself
        numbers = numbers[:1]
    return [name, *(f"{number:g}" for number in numbers)]


def distribution_from_words(words: list[str]) -> dist.Distribution:
    """A name of numpyro and its numbers; two numbers alone are the ends of a log-uniform range."""
    name = "LogUniform" if words and _is_float(words[0]) else words[0] if words else ""
    numbers = words if words and _is_float(words[0]) else words[1:]
    try:
        return _distribution(name)(*map(float, numbers))
    except TypeError:
        raise ValueError(f"{name} does not take the numbers {' '.join(numbers) or 'none'}") from None


def _distribution(name: str) -> type[dist.Distribution]:
    found = LogUniform if name == "LogUniform" else getattr(dist, name, None)
    if not (isinstance(found, type) and issubclass(found, dist.Distribution)):
        raise ValueError(f"{name!r} is not a distribution of numpyro, such as LogNormal or Uniform")
    return found


class LogUniform(dist.LogUniform):
    """numpyro's own computes its logarithms on a device, and must not exist before devices are set up."""

    def __init__(self, low: float, high: float):
        if not 0 < low <= high < float("inf"):
            raise ValueError(f"LogUniform takes LOW HIGH with 0 < LOW <= HIGH, got {low:g} {high:g}")
        self.low, self.high = low, high
        self._support = dist.constraints.interval(low, high)
        logarithms = dist.Uniform(float(np.log(low)), float(np.log(high)))
        dist.TransformedDistribution.__init__(self, logarithms, dist.transforms.ExpTransform())


def _is_number(value: Any) -> bool:
    return value is not None and not callable(value) and np.ndim(value) == 0


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def kernel_to_json(kernel: Any) -> Any:
    """A name as it is; a kernel of tinygp as its class and its fields."""
    if isinstance(kernel, str | int | float | None):
        return kernel
    if isinstance(kernel, tinygp.kernels.Kernel | Distance):
        fields = {f.name: kernel_to_json(getattr(kernel, f.name)) for f in dataclasses.fields(kernel)}
        return {"class": plugin.name_of(type(kernel), "the kernel"), **fields}
    if callable(kernel) or np.asarray(kernel).dtype.kind not in "fiu":
        raise ValueError(f"the kernel {kernel!r} cannot be written to a file; give it as module:name")
    return np.asarray(kernel).tolist()


def kernel_from_json(fields: Any) -> Any:
    """The inverse of `kernel_to_json`."""
    if isinstance(fields, list):
        return np.asarray(fields)
    if not isinstance(fields, dict):
        return fields
    parameters = {name: kernel_from_json(value) for name, value in fields.items() if name != "class"}
    return plugin.find(fields["class"], {}, "the kernel")(**parameters)
