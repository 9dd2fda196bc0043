"""What a user has written, by name: ``module:name`` is the object `name` of the module `module`."""

import functools
import importlib
from collections.abc import Mapping
from typing import Any

__all__ = ["find", "name_of"]


def find(text: str, known: Mapping[str, Any], what: str) -> Any:
    """The entry of a registry with this name, or the object that ``module:name`` names."""
    if text in known:
        return known[text]
    module, _, name = text.partition(":")
    if not (module and name):
        raise ValueError(f"{what} must be one of {', '.join(known)}, or module:name, got {text!r}")
    try:
        return functools.reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{what} {text!r} cannot be found: {error}") from None


def name_of(value: Any, what: str) -> str:
    """The ``module:name`` of a function or class, under which another process finds it again."""
    text = f"{getattr(value, '__module__', '')}:{getattr(value, '__qualname__', '')}"
    if not text.startswith("__main__:"):
        try:
            if find(text, {}, what) is value:
                return text
        except ValueError:
            pass
    raise ValueError(
        f"{what} {value!r} cannot be written to a file; define it at the top of a module, where a run that "
        "goes on can import it"
    )
