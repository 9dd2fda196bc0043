"""Write docs/api.md from the docstrings: python docs/make_api.py

What `alx` exports comes first, then what the prior, objective, task or method of a researcher needs.
"""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("api.md")
# Modules whose public names are described besides those of alx itself.
MODULES = {
    "alx.belief": ("Mixture", "add", "empty", "expect", "likely", "with_outputs", "with_pending"),
    "alx.belief.places": ("describe",),
    "alx.propose": ("decide", "score_places"),
    "alx.learner.goals": ("Goal",),
    "alx.learner.model": ("ErrorEstimate", "Kernels"),
    "alx.network.score_network": ("JudgeConfig",),
    "alx.train.prior": ("Prior", "sample"),
    "alx.train.config": ("TrainConfig", "default", "paper"),
    "alx.train.general_config": ("GeneralConfig",),
    "alx.train.run": ("Trainer", "create", "train"),
    "benchmarks.evaluation.tasks": ("Task", "from_function"),
    "benchmarks.evaluation.methods": ("Method", "Round"),
}
HEAD = """# API

Made from the docstrings by `python docs/make_api.py`; do not edit.

Arrays are written with their shapes: `x [n, D]` is n points of D inputs. Functions on histories and beliefs
take one experiment; `jax.vmap` them for many.
"""


def page() -> str:
    """The whole page."""
    alx = importlib.import_module("alx")
    parts = [HEAD, "## alx\n"]
    parts += [describe(f"alx.{name}", getattr(alx, name)) for name in alx.__all__ if name != "__version__"]
    for name, members in MODULES.items():
        module = importlib.import_module(name)
        parts += [f"## {name}\n", f"{prose(module.__doc__)}\n"]
        parts += [describe(member, getattr(module, member)) for member in members]
    return "\n".join(parts)


def describe(name: str, value: Any) -> str:
    """One class with its public methods, or one function."""
    parts = [f"### {name}{'' if inspect.isclass(value) else signature(value)}\n", f"{prose(value.__doc__)}\n"]
    if inspect.isclass(value) and (lines := members(value)):
        parts += ["Members:\n", *(f"- {line}" for line in lines), ""]
    return "\n".join(parts)


def members(kind: type) -> list[str]:
    """The public methods and properties of a class and of its bases in alx, each with its first sentence."""
    found: dict[str, str] = {}
    for base in kind.__mro__:
        if not base.__module__.startswith(("alx", "benchmarks")):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in found or name == "replace":  # flax's own
                continue
            if isinstance(member, property) and member.__doc__:
                found[name] = f"`{name}`: {first(member.__doc__)}"
            elif isinstance(member, classmethod | staticmethod) and member.__func__.__doc__:
                found[name] = f"`{name}{signature(member.__func__)}`: {first(member.__func__.__doc__)}"
            elif inspect.isfunction(member) and member.__doc__:
                found[name] = f"`{name}{signature(member)}`: {first(member.__doc__)}"
    return list(found.values())


def signature(function: Any) -> str:
    """Names and defaults; types are in the source."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ""
    shown, star = [], False
    for each in parameters:
        if each.name in ("self", "cls"):
            continue
        if each.kind is each.KEYWORD_ONLY and not star:
            shown, star = [*shown, "*"], True
        default = "" if each.default is each.empty else f"={each.default!r}"
        shown.append(f"{'*' * (each.kind is each.VAR_POSITIONAL)}{each.name}{default}")
    return f"({', '.join(shown)})"


def first(doc: str) -> str:
    """The first paragraph, on one line."""
    return " ".join(prose(doc).split("\n\n")[0].split())


def prose(doc: str | None) -> str:
    """A docstring as Markdown: sections as lists, examples as they are, double backquotes as single ones."""
    lines, listing = [], False
    for line in inspect.cleandoc(doc or "").splitlines():
        heading = re.fullmatch(r"(Args|Attributes|Returns):", line)
        listing = bool(heading) or (listing and (not line or line.startswith(" ")))
        if heading:
            lines += [f"{heading[1]}:", ""]
        elif listing and (entry := re.fullmatch(r" {4}(\w+): (.*)", line)):
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        elif listing and line:
            lines.append(f"  {line.strip()}" if line.startswith(" " * 8) else line.strip())
        else:
            lines.append(line)
    return "\n".join(lines).replace("``", "`").strip()


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
