"""Many clients of one server at once: nothing lost, nothing doubled, quick answers, steady memory.

python -m benchmarks.reliability.serve_load

Server and clients share the machine and speak over loopback. The server has compiled what it needs before the
clock runs. An experiment that is full is left, and a new one takes its place.
"""

import asyncio
import collections
import dataclasses
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from benchmarks.reliability.serve_client import Client, RefusedError, running

__all__ = ["Load", "faults", "load", "work"]

INPUTS = [{"name": "a", "low": -5, "high": 10}, {"name": "b", "low": 0, "high": 15}]


@dataclasses.dataclass
class Load:
    """What was measured.

    Attributes:
        told: the readings that were answered, by experiment: they are all different.
        asked: the points that were given out, by experiment.
        times: seconds of each answered request, by what it was.
        memory: resident MB of the server, once a second.
        refused: what the server did not want, by its sentence.
        late: requests sent later than half a second after their time.
    """

    told: dict[str, list[float]]
    asked: dict[str, list[tuple]]
    times: dict[str, list[float]]
    memory: list[float]
    refused: collections.Counter
    late: int = 0


class _Slots:
    """The experiments of the moment."""

    def __init__(self, count: int, budget: int):
        self.budget, self.ids, self.locks = budget, [""] * count, [asyncio.Lock() for _ in range(count)]

    async def fill(self, client: Client, slot: int, full: str) -> None:
        """A new experiment in the place of a full one."""
        async with self.locks[slot]:
            if self.ids[slot] == full:
                body = {"name": f"load {slot}", "inputs": INPUTS, "budget": self.budget}
                self.ids[slot] = (await client("POST", "/experiments", body))["id"]


async def _client(number: int, client: Client, slots: _Slots, end: float, rate: float, found: Load) -> None:
    """Ask and tell in turn; each client goes from one experiment to the next."""
    rng = random.Random(number)
    due = time.monotonic() + rng.random() / rate
    held: tuple[str, list] | None = None
    turn = number
    while due < end:
        await asyncio.sleep(due - time.monotonic())
        found.late += time.monotonic() - due > 0.5
        due += 1 / rate
        slot = turn % len(slots.ids)
        what = "ask" if held is None else "tell"
        name, x = (slots.ids[slot], None) if held is None else held
        y = rng.random()
        begin = time.perf_counter()
        try:
            answer = await client(
                "POST", f"/experiments/{name}/{what}", {} if x is None else {"x": x, "y": y}
            )
        except RefusedError as error:
            if "budget" in str(error):
                await slots.fill(client, slot, name)
            else:
                found.refused[str(error)] += 1
            continue
        found.times[what].append(time.perf_counter() - begin)
        if x is None:
            held = name, answer["x"][0]
            found.asked[name].append(tuple(answer["x"][0]))
        else:
            held, turn = None, turn + 1
            found.told[name].append(y)


async def _memory(pid: int, end: float, found: Load) -> None:
    while time.monotonic() < end:
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1])
        found.memory.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
        await asyncio.sleep(1)


async def _warm(client: Client, budget: int) -> None:
    """Have the server compile: an experiment of the same shape, with as many pending as there may be."""
    body = {"name": "warm", "inputs": INPUTS, "budget": budget}
    path = f"/experiments/{(await client('POST', '/experiments', body))['id']}"
    for n in (1, 2, budget // 2):
        answer = await client("POST", f"{path}/ask", {"n": n})
        await client("POST", f"{path}/tell", {"x": answer["x"][0], "y": float(n)})
    await client("GET", f"{path}/error")
    await client("DELETE", path, {"confirm": path.split("/")[-1]})


async def work(pid: int, port: int, clients: int, experiments: int, budget: int, seconds: float, rate: float):
    """What was measured at a server (of this process: pid 0), and the states of its experiments after it."""
    found = Load(
        collections.defaultdict(list),
        collections.defaultdict(list),
        collections.defaultdict(list),
        [],
        collections.Counter(),
    )
    first = Client(port)
    await _warm(first, budget)
    slots = _Slots(experiments, budget)
    for slot in range(experiments):
        await slots.fill(first, slot, "")
    end = time.monotonic() + seconds
    own = [Client(port) for _ in range(clients)]
    jobs = [_client(i, each, slots, end, rate, found) for i, each in enumerate(own)]
    await asyncio.gather(_memory(pid, end, found), *jobs)
    states = {name: await first("GET", f"/experiments/{name}") for name in found.asked}
    for each in [first, *own]:
        await each.close()
    return found, states


def load(
    clients: int, experiments: int, budget: int, seconds: float, rate: float, directory: Path
) -> tuple[Load, dict[str, Any]]:
    """Run, and return what was measured and the states of all experiments after it."""
    with running(directory) as (process, port):
        return asyncio.run(work(process.pid, port, clients, experiments, budget, seconds, rate))


def faults(found: Load, states: dict[str, Any]) -> collections.Counter:
    """Readings lost or doubled, and points given out twice."""
    tally = collections.Counter({"lost": 0, "doubled": 0, "points given out twice": 0})
    for name, state in states.items():
        there = collections.Counter(point["y"] for point in state["points"])
        tally["lost"] += sum(1 for y in found.told[name] if y not in there)
        tally["doubled"] += sum(count - 1 for count in there.values())
        tally["points given out twice"] += len(found.asked[name]) - len(set(found.asked[name]))
    return tally


def main(
    clients: int = 50, experiments: int = 20, budget: int = 60, seconds: float = 60, rate: float = 2
) -> None:
    """Load a server and print what happened.

    Args:
        clients: how many, each with one connection.
        experiments: how many at any time.
        budget: points of each.
        seconds: how long.
        rate: requests of each client in a second.
    """
    busy = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as directory:
        found, states = load(clients, experiments, budget, seconds, rate, Path(directory))
    tally = faults(found, states)
    print(f"{clients} clients, {len(states)} experiments, {os.cpu_count()} cores, load before {busy:.1f}")
    for what, times in found.times.items():
        p50, p99, most = 1e3 * np.quantile(times, [0.5, 0.99, 1])
        print(f"{what}: {len(times)} answered, median {p50:.1f} ms, p99 {p99:.1f} ms, most {most:.1f} ms")
    thirds = [f"{np.median(third):.0f}" for third in np.array_split(found.memory, 3)]
    print(f"resident: {', '.join(thirds)} MB in each third of the time; late: {found.late}")
    print(", ".join(f"{count} {what}" for what, count in (tally + found.refused).items()) or "0 faults")
    raise SystemExit(bool(tally.total() or found.refused.total()))


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
