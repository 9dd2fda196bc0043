"""The checks of bodies agree with JSON Schema itself."""

import math

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alx.serve import shapes
from alx.serve.schema import check, parse

SCHEMAS = {name: getattr(shapes, name) for name in ("ASK", "CREATE", "TELL", "FORGET", "PREDICT", "DELETE")}
GOOD = {
    "ASK": {"n": 3, "request_id": "r"},
    "CREATE": {
        "name": "n",
        "inputs": [{"name": "x", "kind": "choice", "levels": ["a", 2]}],
        "outputs": [{"name": "y", "unit": "V", "weight": 2}],
        "constraints": [{"coefficients": {"x": 1}, "at_most": 2}],
        "budget": 5,
        "goal": {"error": 0.5},
    },
    "TELL": {"x": [1, "a"], "y": [1, None], "asked": [1.5], "repeat": True},
    "FORGET": {"x": [0]},
    "PREDICT": {"x": [[1, 2], [3, 4]], "level": 0.5},
    "DELETE": {"confirm": "yes"},
}
ODD = st.sampled_from(
    [None, True, False, 0, -1, 1, 2.0, 0.5, 1e301, 300, "", "a", "x" * 200, [], [[]], [1] * 40, {}, {"a": 1}]
)


@st.composite
def changed(draw, value):
    """The value with something in it replaced, left out or added."""
    if draw(st.integers(0, 3)) == 0 or not isinstance(value, dict | list) or not value:
        return draw(ODD)
    value = value.copy()
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = draw(st.sampled_from(keys))
    what = draw(st.integers(0, 4))
    if what == 0:
        del value[key]
    elif what == 1 and isinstance(value, dict):
        value["more"] = draw(ODD)
    else:
        value[key] = draw(changed(value[key]))
    return value


@settings(max_examples=60, deadline=None, database=None)
@given(st.data())
@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_accepted_is_what_json_schema_accepts(name, data):
    value = data.draw(changed(GOOD[name]))
    validator = jsonschema.Draft202012Validator(SCHEMAS[name])
    if validator.is_valid(value):
        check(SCHEMAS[name], value)
    else:
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            check(SCHEMAS[name], value)


@pytest.mark.parametrize("name", GOOD)
def test_what_is_good_is_accepted(name):
    check(SCHEMAS[name], GOOD[name])


@pytest.mark.parametrize("text", [b"NaN", b"[Infinity]", b"{", b"", b"\xff", b"[" * 100_000, b"1" * 5000])
def test_what_is_not_json_is_refused(text):
    with pytest.raises(ValueError, match="the body is not JSON"):
        parse(text)


def test_what_no_answer_could_carry_is_refused():
    for bad in ("\ud800", "a\x00", "a\nb"):
        with pytest.raises(ValueError, match="printable"):
            check({"type": "string"}, bad)
    with pytest.raises(ValueError, match="between"):
        check(shapes.NUMBER, math.inf)
