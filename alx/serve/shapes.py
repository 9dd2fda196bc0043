"""What requests and answers look like, as JSON Schema; and how large a request may be."""

__all__ = [
    "ASK",
    "ASKED",
    "CHANGED",
    "CREATE",
    "CURVE",
    "DELETE",
    "DELETED",
    "ERROR",
    "EXTEND",
    "FAIL",
    "FORGET",
    "LIST",
    "MAX_BODY",
    "MAX_EXPERIMENTS",
    "MAX_POINTS",
    "MODEL",
    "NEXT",
    "PREDICT",
    "PREDICTED",
    "REFUSED",
    "STATE",
    "TELL",
]

MAX_BODY = 1 << 20  # bytes
MAX_EXPERIMENTS = 200
MAX_POINTS = 256  # of one experiment, told and pending
MAX_PREDICTED = 4096  # places in one request
MAX_INPUTS, MAX_OUTPUTS, MAX_LEVELS, MAX_CONSTRAINTS = 12, 8, 20, 32

NUMBER = {"type": "number", "minimum": -1e300, "maximum": 1e300}
MAYBE = {"type": ["number", "null"], "minimum": -1e300, "maximum": 1e300}
COUNT = {"type": "integer", "minimum": 0}
NAME = {"type": "string", "minLength": 1, "maxLength": 80}
UNIT = {"type": "string", "maxLength": 20}
VALUE = {"type": ["number", "string"], "minimum": -1e300, "maximum": 1e300, "maxLength": 80}


def _object(required: dict, optional: dict | None = None, **more) -> dict:
    properties = required | (optional or {})
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
        **more,
    }


def _list(items: dict, most: int | None = None, least: int = 0) -> dict:
    return {"type": "array", "items": items, "minItems": least} | ({} if most is None else {"maxItems": most})


ROW = _list(VALUE, MAX_INPUTS, 1) | {"description": "one value for each input, in their order"}
ROWS = _list(ROW, MAX_PREDICTED, 1)
Y = {
    "type": ["number", "null", "array"],
    "minimum": -1e300,
    "maximum": 1e300,
    "items": MAYBE,
    "maxItems": MAX_OUTPUTS,
    "description": "a number, null for a failed measurement; with several outputs a list of them",
}
REQUEST_ID = {
    "type": "string",
    "minLength": 1,
    "maxLength": 80,
    "description": "the same id sent again counts once and gets the same answer; or send it as the header "
    "Idempotency-Key",
}
INPUT = _object(
    {"name": NAME},
    {
        "kind": {"type": "string", "enum": ["real", "integer", "choice"], "default": "real"},
        "low": NUMBER,
        "high": NUMBER,
        "unit": UNIT,
        "levels": _list(VALUE, MAX_LEVELS, 2),
    },
)
OUTPUT = _object({"name": NAME}, {"unit": UNIT, "weight": NUMBER})
CONSTRAINT = _object(
    {
        "coefficients": {
            "type": "object",
            "additionalProperties": NUMBER,
            "minProperties": 1,
            "maxProperties": MAX_INPUTS,
            "description": "a factor for each input by name; the sum of factor times input ...",
        },
        "at_most": NUMBER | {"description": "... is at most this"},
    }
)
GOAL = _object({"error": {"type": "number", "minimum": 1e-300, "maximum": 1e300}})
CREATE = _object(
    {"name": NAME, "inputs": _list(INPUT, MAX_INPUTS, 1)},
    {
        "outputs": _list(OUTPUT, MAX_OUTPUTS, 1),
        "constraints": _list(CONSTRAINT, MAX_CONSTRAINTS),
        "budget": {"type": "integer", "minimum": 1, "maximum": MAX_POINTS},
        "goal": GOAL,
        "request_id": REQUEST_ID,
    },
    examples=[
        {"name": "bench", "inputs": [{"name": "force", "low": 0, "high": 1, "unit": "kN"}], "budget": 20}
    ],
)
N = {"type": "integer", "minimum": 1, "maximum": MAX_POINTS}
ASK = _object({}, {"n": N | {"default": 1}, "request_id": REQUEST_ID})
TELL = _object(
    {"x": ROW, "y": Y},
    {
        "asked": ROW | {"description": "the point asked for, when x is where it was really measured"},
        "repeat": {"type": "boolean", "default": False, "description": "count an equal reading once more"},
        "request_id": REQUEST_ID,
    },
    examples=[{"x": [0.5], "y": 17.2}],
)
FAIL = _object({"x": ROW}, {"request_id": REQUEST_ID})
FORGET = _object(
    {}, {"x": ROW | {"description": "one pending point; without it all"}, "request_id": REQUEST_ID}
)
EXTEND = _object({"n": N}, {"request_id": REQUEST_ID})
PREDICT = _object(
    {"x": ROWS},
    {"level": {"type": "number", "minimum": 0.001, "maximum": 0.999, "default": 0.9}},
    examples=[{"x": [[0.25], [0.75]]}],
)
DELETE = _object({"confirm": {"type": "string", "maxLength": 80, "description": "the experiment's id"}})

PROGRESS = {
    "version": COUNT | {"description": "the number of changes so far"},
    "told": COUNT | {"description": "measurements told, failed ones among them"},
    "failed": COUNT | {"description": "places where it failed and has not succeeded since"},
    "waiting": COUNT | {"description": "points asked for and not told yet"},
    "remaining": {"type": ["integer", "null"], "description": "null without a budget"},
}
CHANGED = _object(PROGRESS)
ASKED = _object({"x": ROWS, **PROGRESS})
SUMMARY = _object({"id": NAME, "name": NAME, "created": NUMBER, "dim": COUNT, **PROGRESS})
LIST = _object({"experiments": _list(SUMMARY)})
POINT = _object({"x": ROW, "y": Y})
STATE = _object(
    {
        "id": NAME,
        "name": NAME,
        "created": NUMBER | {"description": "seconds since 1970"},
        "inputs": _list(INPUT),
        "outputs": _list(OUTPUT),
        "constraints": _list(CONSTRAINT),
        "budget": {"type": ["integer", "null"]},
        "goal": {**GOAL, "type": ["object", "null"]},
        "points": _list(POINT),
        "pending": _list(ROW),
        **PROGRESS,
    }
)
NEXT = _object({"x": {**ROW, "type": ["array", "null"], "description": "null when nothing can be asked"}})
NUMBERS = _list(MAYBE)
ESTIMATE = {"rmse": NUMBERS, "low": NUMBERS, "high": NUMBERS}
ERROR = _object(
    {**ESTIMATE, "goal": MAYBE, "reached": {"type": "boolean"}},
    description="one number for each output; null while nothing is known",
)
CURVE = _object({"outputs": _list(_object({"points": _list(COUNT), **ESTIMATE}))})
PREDICTED = _object(
    {name: _list({"type": ["number", "array", "null"]}) for name in ("mean", "sd", "low", "high")},
    description="a number for each place; with several outputs a list of them",
)
MODEL = _object(
    {
        "outputs": _list(
            _object(
                {
                    "name": NAME,
                    "lengthscales": NUMBERS | {"description": "for each input in its unit"},
                    "effect": NUMBERS | {"description": "range over lengthscale: what matters"},
                    "noise_sd": MAYBE,
                    "signal_sd": MAYBE,
                }
            )
        )
    }
)
DELETED = _object({"deleted": NAME})
REFUSED = _object({"error": {"type": "string"}})
