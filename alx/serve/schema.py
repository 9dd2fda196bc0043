"""JSON from strangers: parsed, and checked by the very schemas that the OpenAPI document shows.

Only the keywords of JSON Schema that ``shapes`` uses are known here.
"""

import json
from typing import Any

from alx.learner.checks import short

__all__ = ["check", "parse"]

TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, float) and value.is_integer())
    ),
}
WORDS = {"object": "an object", "array": "a list", "string": "a text", "boolean": "true or false"}
WORDS |= {"null": "null", "number": "a number", "integer": "a whole number"}


def parse(text: bytes) -> Any:
    """The value of a JSON text; NaN and Infinity, which JSON does not have, are refused."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ValueError("the body is not JSON") from None


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def check(schema: dict, value: Any, name: str = "the body") -> None:
    """Raise a ValueError of one sentence when the value is not what the schema says."""
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(TYPES[kind](value) for kind in kinds):
        raise ValueError(f"{name} must be {' or '.join(WORDS[kind] for kind in kinds)}, got {short(value)}")
    if "enum" in schema and value not in schema["enum"]:
        raise ValueError(f"{name} must be one of {short(schema['enum'])}, got {short(value)}")
    if isinstance(value, str):
        _check_text(schema, value, name)
    elif isinstance(value, list):
        _check_length(schema, "Items", "entries", len(value), name)
        for i, each in enumerate(value, 1):
            check(schema.get("items", {}), each, f"entry {i} of {name}")
    elif isinstance(value, dict):
        _check_object(schema, value, name)
    elif TYPES["number"](value):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        if not low <= value <= high:
            raise ValueError(f"{name} must be between {low:g} and {high:g}, got {short(value)}")


def _check_text(schema: dict, value: str, name: str) -> None:
    _check_length(schema, "Length", "characters", len(value), name)
    if not value.isprintable():  # half surrogates as well, which no answer could carry
        raise ValueError(f"{name} must have printable characters only, got {short(value)}")


def _check_length(schema: dict, what: str, unit: str, length: int, name: str) -> None:
    low, high = schema.get(f"min{what}", 0), schema.get(f"max{what}", length)
    if not low <= length <= high:
        raise ValueError(f"{name} must have {low} to {high} {unit}, got {length}")


def _check_object(schema: dict, value: dict, name: str) -> None:
    known = schema.get("properties", {})
    _check_length(schema, "Properties", "fields", len(value), name)
    if missing := [field for field in schema.get("required", ()) if field not in value]:
        raise ValueError(f"{name} lacks the field {missing[0]!r}")
    others = schema.get("additionalProperties", True)
    for field, each in value.items():
        if field in known:
            check(known[field], each, field)
        elif others is False:
            raise ValueError(f"{name} has no field {short(field)}; it has {', '.join(known) or 'none'}")
        elif isinstance(others, dict):
            check(others, each, f"{short(field)} of {name}")
