"""kill -9 of the server while clients tell: what was answered is there afterwards, once.

python -m benchmarks.reliability.serve_kills --kills 100

A request that the kill left without an answer is sent again, with its id, to the next server. Learners are
saved anew after every 20 changes here, so that kills also come in the middle of that.
"""

import asyncio
import collections
import contextlib
import os
import random
import re
import tempfile
import time
import warnings
from multiprocessing.context import ForkContext, ForkProcess
from pathlib import Path
from typing import Any

import tyro

from alx.io import cache as compilations
from alx.serve import experiment, server
from benchmarks.reliability.serve_client import Client

__all__ = ["Teller", "check", "kill_while_telling"]

BUDGET = 40
INPUTS = [{"name": "a", "low": 0, "high": 1}, {"name": "b", "low": 0, "high": 1}]


def _serve(directory: Path, cache: Path, said: Path) -> None:
    os.environ["XDG_CACHE_HOME"] = str(cache)
    compilations.enable()
    experiment.LONGEST = 20
    with open(said, "w") as file, contextlib.redirect_stdout(file):
        asyncio.run(server.run(directory, "127.0.0.1", 0, None, (), False))


def _start(directory: Path, cache: Path) -> tuple[ForkProcess, int]:
    """A server, forked from this process, which has imported everything and touched no device."""
    said = directory.with_name("said")
    said.unlink(missing_ok=True)
    process = ForkContext().Process(target=_serve, args=(directory, cache, said))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jax warns of forks; no thread of it runs here
        process.start()
    while True:
        found = re.search(r":(\d+)\n", said.read_text()) if said.exists() else None
        if found is not None:
            return process, int(found[1])
        if not process.is_alive():
            raise RuntimeError(f"the server ended by itself with {process.exitcode}")
        time.sleep(0.01)


class Teller:
    """A client that fills one experiment after the other and remembers what was answered."""

    def __init__(self, number: int):
        self.number, self.sent, self.name = number, 0, ""
        self.answered: dict[str, list[float]] = {}
        self.open: tuple[str, dict] | None = None  # a request without an answer

    def _next(self) -> tuple[str, dict]:
        self.sent += 1
        key = {"request_id": f"{self.number}-{self.sent}"}
        if not self.name or len(self.answered[self.name]) == BUDGET:
            name = f"teller {self.number}"
            return "/experiments", {"name": name, "inputs": INPUTS, "budget": BUDGET} | key
        rng = random.Random(f"{self.number} {self.sent}")
        body = {"x": [rng.random(), rng.random()], "y": self.number + self.sent / 1e6} | key
        return f"/experiments/{self.name}/tell", body

    async def go_on(self, client: Client, count: collections.Counter) -> None:
        """Until the server dies."""
        while True:
            if self.open is None:
                self.open = self._next()
            else:
                count["sent again"] += 1
            path, body = self.open
            answer: Any = await client("POST", path, body, tries=1)
            self.open = None
            count["answered"] += 1
            if path == "/experiments":
                self.name = answer["id"]
                self.answered[self.name] = []
            else:
                self.answered[self.name].append(body["y"])


async def _leg(process: ForkProcess, port: int, tellers: list[Teller], wait: float, tally) -> None:
    """Tell until the kill, which comes so many seconds after the first answers."""
    before = tally["answered"]
    clients = [Client(port) for _ in tellers]
    work = [asyncio.create_task(each.go_on(c, tally)) for each, c in zip(tellers, clients, strict=True)]
    while tally["answered"] < before + len(tellers):
        await asyncio.sleep(0.005)
        for each in work:
            if each.done():
                await each
    await asyncio.sleep(wait)
    process.kill()
    for result in await asyncio.gather(*work, return_exceptions=True):
        if not isinstance(result, OSError | asyncio.IncompleteReadError):
            raise RuntimeError(f"a client ended with {result!r}")
    for each in clients:
        await each.close()
    process.join()
    tally["kills"] += 1


async def check(port: int, tellers: list[Teller], tally: collections.Counter) -> None:
    """Every answered tell is there, none is there twice, and of the others at most the one under way."""
    client = Client(port)
    found = {each["id"] for each in (await client("GET", "/experiments"))["experiments"]}
    tally["experiments lost"] = len({name for each in tellers for name in each.answered} - found)
    tally["experiments too many"] = max(
        len(found - {n for t in tellers for n in t.answered}) - len(tellers), 0
    )
    for teller in tellers:
        under_way = {} if teller.open is None else teller.open[1]
        for name, ys in teller.answered.items():
            points = (await client("GET", f"/experiments/{name}"))["points"]
            there = collections.Counter(point["y"] for point in points)
            tally["lost"] += len(set(ys) - there.keys())
            tally["doubled"] += there.total() - len(there)
            tally["never sent"] += len(there.keys() - set(ys) - {under_way.get("y")})
    await client.close()


def kill_while_telling(kills: int, seed: int, directory: Path, tellers: int = 8) -> collections.Counter:
    """Start, tell and kill again and again; a kill in four comes at once after the first answers."""
    rng, tally = random.Random(seed), collections.Counter()
    own = [Teller(number) for number in range(1, tellers + 1)]
    where, cache = directory / "experiments", directory / "cache"
    for _ in range(kills):
        process, port = _start(where, cache)
        wait = 0.0 if rng.random() < 0.25 else rng.random()
        asyncio.run(_leg(process, port, own, wait, tally))
    process, port = _start(where, cache)
    asyncio.run(check(port, own, tally))
    process.terminate()
    process.join()
    return tally


def main(kills: int = 100, seed: int = 0) -> None:
    """Kill and print what was lost.

    Args:
        kills: how often.
        seed: of the moments.
    """
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        tally = kill_while_telling(kills, seed, Path(directory))
    print(", ".join(f"{count} {what}" for what, count in tally.items()))
    print(f"{time.monotonic() - begin:.0f} s, {os.cpu_count()} cores")
    bad = ("lost", "doubled", "never sent", "experiments lost", "experiments too many")
    raise SystemExit(any(tally[what] for what in bad))


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
