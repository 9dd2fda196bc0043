"""Policy files: save, load, and list the ones shipped with the package."""

import dataclasses
import functools
import importlib.resources
import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from alx.io import files
from alx.network.policy import Policy, PolicyConfig, init
from alx.network.score_network import JudgeConfig

__all__ = [
    "card",
    "fingerprint",
    "from_tensors",
    "load",
    "read_config",
    "read_record",
    "save",
    "shipped",
    "tensor_spec",
    "to_tensors",
]

KIND = "policy"
GENERAL = "general"
Config = PolicyConfig | JudgeConfig
# Far beyond any use; a stranger's file must not make us build a network of a billion inputs.
LARGEST = {"dim": 256, "T": 4096, "n_init": 4096}


def save(path: str | os.PathLike, policy: Policy, record: dict[str, Any]) -> None:
    """Write a policy file, atomically.

    Args:
        path: where to write it; by convention it ends in ``.safetensors``.
        policy: the policy.
        record: how it was made (prior, objective, seed, steps, metrics, command ...), anything JSON can hold.
    """
    meta = {"config": dataclasses.asdict(policy.config), "record": record}
    files.write(path, KIND, meta, to_tensors(policy))


def load(name_or_path: str | os.PathLike = GENERAL) -> Policy:
    """A shipped policy by its name (see ``shipped``), or one from a file; the general policy by default.

    A file that is truncated, damaged, of another kind or of another version raises a ValueError.
    """
    path = _find(name_or_path)
    meta, tensors = files.read(path, KIND, _expected)
    try:
        return from_tensors(_config(meta), tensors)
    except ValueError as error:
        raise ValueError(f"{path} holds no usable policy: {error}") from None


def read_record(name_or_path: str | os.PathLike) -> dict[str, Any]:
    """How a policy was made: the record given to ``save``, with its config and the package versions."""
    meta, _ = files.read(_find(name_or_path), KIND, _expected)
    return {**meta["record"], "config": meta["config"], "versions": meta["versions"]}


def shipped() -> list[str]:
    """Names of the policies that come with the package."""
    suffix = ".safetensors"
    entries = (entry.name for entry in importlib.resources.files("alx.policies").iterdir())
    return sorted(name.removesuffix(suffix) for name in entries if name.endswith(suffix))


def card(name: str) -> str:
    """The model card of a shipped policy, in Markdown."""
    if name not in shipped():
        raise ValueError(f"{name!r} is not a shipped policy; shipped are: {_listing()}")
    return importlib.resources.files("alx.policies").joinpath(f"{name}.md").read_text("utf-8")


def fingerprint(policy: Policy) -> str:
    """A short name for exactly these weights and this config."""
    return files.digest(dataclasses.asdict(policy.config), to_tensors(policy))


def to_tensors(policy: Policy) -> dict[str, np.ndarray]:
    """The weights by name: the path through the nested dicts, joined with dots."""
    leaves = jax.tree_util.tree_leaves_with_path(policy.params)
    return {_name(path): np.asarray(leaf, np.float32) for path, leaf in leaves}


def from_tensors(config: Config, tensors: dict[str, np.ndarray]) -> Policy:
    """The inverse of ``to_tensors``."""
    if not all(np.isfinite(value).all() for value in tensors.values()):
        raise ValueError("some of its weights are not finite")
    params = jax.tree_util.tree_map_with_path(
        lambda path, _: jnp.asarray(tensors[_name(path)]), _shapes(config)
    )
    return Policy(params, config)


def tensor_spec(config: Config) -> files.Spec:
    """Names, types and shapes of the weights of such a policy."""
    leaves = jax.tree_util.tree_leaves_with_path(_shapes(config))
    return {_name(path): ("F32", leaf.shape) for path, leaf in leaves}


@functools.lru_cache(maxsize=64)
def _shapes(config: Config):
    return jax.eval_shape(lambda: init(jax.random.key(0), config))


def _name(path) -> str:
    return ".".join(str(getattr(step, "key", getattr(step, "idx", None))) for step in path)


def _config(meta: dict) -> Config:
    return read_config(meta.get("config"))


def read_config(fields: Any) -> Config:
    """A config from the JSON object of a file."""
    if not isinstance(fields, dict):
        raise ValueError("it lacks a config")
    for name, largest in LARGEST.items():
        value = fields.get(name)
        if isinstance(value, int) and value > largest:
            raise ValueError(f"the {name} of its config is at most {largest}, got {value}")
    kind = JudgeConfig if fields.get("network") == "judge" else PolicyConfig
    try:
        return kind(**fields)
    except TypeError:
        known = ", ".join(field.name for field in dataclasses.fields(kind))
        raise ValueError(f"its config needs other fields; this alx knows {known}") from None


def _expected(meta: dict) -> files.Spec:
    if not isinstance(meta.get("record"), dict):
        raise ValueError("it lacks a training record")
    if not isinstance(meta.get("versions"), dict):
        raise ValueError("it lacks the versions of what wrote it")
    return tensor_spec(_config(meta))


def _find(name_or_path: str | os.PathLike) -> Path:
    if isinstance(name_or_path, str) and name_or_path in shipped():
        return Path(str(importlib.resources.files("alx.policies").joinpath(f"{name_or_path}.safetensors")))
    path = Path(name_or_path)
    if not path.exists():
        raise ValueError(
            f"there is neither a policy file nor a shipped policy {str(path)!r}; shipped are: {_listing()}"
        )
    return path


def _listing() -> str:
    return ", ".join(shipped()) or "none"
