"""The paper's policies, for comparison: ``load("paper-dad-dim2-T20")``. Each has a card beside it."""

from pathlib import Path

from alx.io import store
from alx.network.policy import Policy

__all__ = ["find", "load", "names"]

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Their names, objective, number of inputs and of queries in them."""
    return sorted(path.stem for path in FOLDER.glob("*.safetensors"))


def find(name: str) -> Path:
    """The file of this name, for whatever takes a path."""
    if name not in names():
        raise ValueError(f"there is no policy {name!r} for comparison; there are {', '.join(names())}")
    return FOLDER / f"{name}.safetensors"


def load(name: str) -> Policy:
    """The policy of this name."""
    return store.load(find(name))
