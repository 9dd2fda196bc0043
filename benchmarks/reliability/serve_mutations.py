"""Requests that were good and then changed at random: every answer is a refusal or good, never a crash.

python -m benchmarks.reliability.serve_mutations --count 10000
"""

import asyncio
import collections
import contextlib
import json
import random
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import tyro

from benchmarks.reliability.serve_client import Client, running

__all__ = ["BAD", "mutate"]

LINE = {"name": "line", "inputs": [{"name": "x", "low": 0, "high": 1}], "budget": 8}
ODD: list[Any] = [None, True, -1, 0, 1, 0.5, 1e308, -1e-320, 10**400, 2**64, "", "x", "x" * 3000, "\ud800"]
ODD += [
    "../../etc/passwd",
    "..\\x",
    "a\x00b",
    "\u20ac",
    "1",
    [],
    {},
    [[]],
    [None],
    {"x": 1},
    [0.5] * 300,
]
ODD += [{"a": {"b": [{}]}}, "{{7*7}}", "<script>", "NaN", "'; --"]
PATHS = [
    "",
    "/..",
    "/../..",
    "/%2e%2e/%2e%2e/etc/passwd",
    "//",
    "/%00",
    "/ask%0d%0aX: y",
    "/é",
    "?x=%ff",
    "/a/b/c",
]
HEADERS = [("Content-Type", "text/plain"), ("Content-Type", "application/json; charset=latin-1")]
HEADERS += [
    ("Idempotency-Key", "../x"),
    ("Idempotency-Key", "k" * 500),
    ("Accept", "x/y"),
    ("Range", "bytes=9-1"),
]
HEADERS += [("Origin", "null"), ("Host", "evil.example"), ("Authorization", "Bearer x"), ("X-Y", "\xff")]
BAD = ("server errors", "tracebacks", "no answer", "not a sentence", "files outside")


def _good(name: str, rng: random.Random) -> tuple[str, str, Any]:
    """A request that would be accepted, more or less."""
    one, x = f"/v1/experiments/{name}", [rng.random()]
    return rng.choice(
        [
            ("GET", "/v1/experiments", None),
            ("GET", "/v1/openapi.json", None),
            ("GET", "/", None),
            ("POST", "/v1/experiments", LINE | {"goal": {"error": 0.1}, "outputs": [{"name": "y"}]}),
            ("POST", "/v1/experiments", LINE | {"constraints": [{"coefficients": {"x": 1}, "at_most": 1}]}),
            ("GET", one, None),
            ("POST", f"{one}/ask", {"n": 1, "request_id": "a"}),
            ("POST", f"{one}/tell", {"x": x, "y": rng.random(), "repeat": True, "asked": x}),
            ("POST", f"{one}/tell", {"x": x, "y": rng.random()}),
            ("POST", f"{one}/fail", {"x": x}),
            ("POST", f"{one}/forget", {"x": x}),
            ("POST", f"{one}/forget", {}),
            ("POST", f"{one}/extend", {"n": 1}),
            ("POST", f"{one}/predict", {"x": [x, [0.5]], "level": 0.5}),
            ("POST", f"{one}/csv", "x,y\n0.5,1\n0.25,\n"),
            ("DELETE", one, {"confirm": "no"}),
            *(("GET", f"{one}/{what}", None) for what in ("next", "error", "curve", "model", "csv")),
        ]
    )


def _changed(value: Any, rng: random.Random) -> Any:
    """Something in it replaced, left out or added."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.2:
        return rng.choice(ODD)
    value = value.copy()
    key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
    what = rng.random()
    if what < 0.15:
        del value[key]
    elif what < 0.3 and isinstance(value, dict):
        value[rng.choice(["more", "", "request_id", "x", "path", "\ud800"])] = rng.choice(ODD)
    else:
        value[key] = _changed(value[key], rng)
    return value


def _request(name: str, rng: random.Random) -> bytes:
    """The bytes of a mutated request."""
    method, path, body = _good(name, rng)
    headers = {"Host": "127.0.0.1", "Connection": "close"}
    headers["Content-Type"] = "text/csv" if isinstance(body, str) else "application/json"
    what = rng.random()
    if what < 0.6 and isinstance(body, dict):
        body = _changed(body, rng)
    elif what < 0.75:
        path = rng.choice([path + rng.choice(PATHS), path.replace(name, rng.choice(PATHS).strip("/") or "0")])
    elif what < 0.85:
        headers |= [rng.choice(HEADERS)]
    elif what < 0.9:
        method = rng.choice(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "X"])
    text = b""
    if body is not None:
        text = (body if isinstance(body, str) else json.dumps(body)).encode("utf-8", "replace")
    if rng.random() < 0.15 and text:
        text = _damaged(text, rng)
    headers["Content-Length"] = str(len(text))
    lines = [f"{method} {path} HTTP/1.1", *(f"{key}: {value}" for key, value in headers.items())]
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n" + text


def _damaged(text: bytes, rng: random.Random) -> bytes:
    at, what = rng.randrange(len(text)), rng.random()
    if what < 0.3:
        return text[:at]
    if what < 0.6:
        return text[:at] + rng.randbytes(3) + text[at:]
    if what < 0.8:
        return re.sub(rb"\d+", rng.choice([b"NaN", b"-Infinity", b"1e999", b"9" * 5000]), text, count=1)
    return b"[" * 50_000 + text


async def _exchange(port: int, request: bytes) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), 120)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode("utf-8", "replace")


def _judge(request: bytes, status: int, text: str, tally: collections.Counter) -> None:
    tally["accepted" if status < 300 else "refused"] += 1
    tally["server errors"] += status >= 500
    tally["tracebacks"] += "Traceback" in text or '.py"' in text
    if status >= 300 and not request.startswith(b"HEAD ") and text != "Invalid HTTP request received.":
        try:
            sentence = json.loads(text)["error"]
            tally["not a sentence"] += not isinstance(sentence, str) or "\n" in sentence
        except (ValueError, KeyError, TypeError):
            tally["not a sentence"] += 1
            print(request[:300], status, text[:300])


async def mutate(port: int, count: int, seed: int, at_once: int = 8) -> collections.Counter:
    """Send so many mutated requests to a server, and count what comes back."""
    client, tally = Client(port), collections.Counter[str](dict.fromkeys(BAD, 0))
    names = [(await client("POST", "/experiments", LINE))["id"] for _ in range(4)]
    rng = random.Random(seed)

    async def work() -> None:
        while tally["sent"] < count:
            tally["sent"] += 1
            request = _request(rng.choice(names), rng)
            try:
                status, text = await _exchange(port, request)
            except (OSError, TimeoutError, IndexError, ValueError) as error:
                tally["no answer"] += 1
                print(request[:300], repr(error))
                continue
            _judge(request, status, text, tally)

    await asyncio.gather(*(work() for _ in range(at_once)))
    tally["experiments made"] = len((await client("GET", "/experiments"))["experiments"])
    await client.close()
    return tally


def main(count: int = 10_000, seed: int = 0) -> None:
    """Mutate and print what happened.

    Args:
        count: how many requests.
        seed: of the changes.
    """
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "a" / "experiments"
        directory.parent.mkdir()
        with running(directory) as (_, port):
            tally = asyncio.run(mutate(port, count, seed))
        tally["files outside"] = (
            sum(1 for each in Path(place).rglob("*") if directory not in each.parents) - 2
        )
    print(", ".join(f"{count} {what}" for what, count in tally.items()))
    print(f"{time.monotonic() - begin:.0f} s")
    raise SystemExit(any(tally[what] for what in BAD))


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
