"""How the fields of configs that tyro does not know are written on the command line."""

from typing import Any, get_type_hints

import numpyro.distributions as dist
import tyro
from tyro.constructors import PrimitiveConstructorSpec, PrimitiveTypeInfo

from alx.train import plugin, serial
from alx.train.config import TrainConfig
from alx.train.prior import Prior, words
from alx.train.simulate import Batch

__all__ = ["SYNTAX"]

HINTS = get_type_hints(TrainConfig) | get_type_hints(Prior)
registry = tyro.constructors.ConstructorRegistry()
SYNTAX: dict[str, Any] = {"config": (tyro.conf.OmitArgPrefixes,), "registry": registry}


@registry.primitive_rule
def _primitive(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
    """How the fields that tyro does not know are written."""
    kind = info.type
    if kind == HINTS["objective"]:
        return PrimitiveConstructorSpec(
            1,
            "NAME|MODULE:NAME",
            lambda words: words[0],
            lambda value: isinstance(value, str) or callable(value),
            lambda value: [value if isinstance(value, str) else plugin.name_of(value, "objective")],
        )
    if kind == HINTS["kernels"]:
        return PrimitiveConstructorSpec(
            "*",
            "NAME|MODULE:NAME ...",
            tuple,
            lambda value: isinstance(value, tuple),
            lambda value: [each if isinstance(each, str) else type(each).__name__ for each in value],
        )
    if kind == dist.Distribution:
        return PrimitiveConstructorSpec(
            "*",
            "LOW HIGH|NAME NUMBER ...",
            serial.distribution_from_words,
            lambda value: isinstance(value, dist.Distribution),
            lambda value: words(value).split(),
        )
    if kind == Batch:
        return PrimitiveConstructorSpec(
            3,
            "KERNELS FUNCTIONS NOISES",
            lambda words: Batch(*map(int, words)),
            lambda value: isinstance(value, Batch),
            lambda value: list(map(str, value)),
        )
    return None
