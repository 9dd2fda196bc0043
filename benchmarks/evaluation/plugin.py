"""Objects of a user's own, named as ``module:name`` on the command line."""

import hashlib
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.evaluation.methods import Method, from_function
from benchmarks.evaluation.tasks import Task

__all__ = ["find", "method", "task"]


def find(option: str, name: str) -> tuple[ModuleType, Callable[..., Any]]:
    """The module and the callable that ``module:name`` says; modules of the working directory count, too."""
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ValueError(f"{option} is {name}, but {module_name} cannot be imported: {error}.") from None
    value = getattr(module, attribute, None)
    if not callable(value):
        raise ValueError(f"{option} is {name}, but {module_name} has no function {attribute}.")
    return module, value


def method(name: str, taken: set[str]) -> Method:
    """``module:function`` of history -> x, called by the function's name unless that is taken."""
    module, function = find("--method", name)
    short = name.partition(":")[2]
    return from_function(name if short in taken else short, function, _content(module))


def task(name: str) -> Task:
    """``module:function``, which returns a `Task`."""
    found = find("--task", name)[1]()
    if not isinstance(found, Task):
        raise ValueError(f"--task is {name}, which returns a {type(found).__name__}, but must return a Task.")
    return found


def _content(module: ModuleType) -> str:
    """Changes with the file the module is in."""
    file = getattr(module, "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12] if file else ""
