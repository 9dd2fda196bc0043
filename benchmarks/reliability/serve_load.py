"""Many clients of one server at once: nothing lost, nothing doubled, quick answers, steady memory.

python -m benchmarks.reliability.serve_load

Server and clients share the machine and speak over loopback. The server has compiled what it needs before the
clock runs. An experiment that is full is left, and a new one takes its place. The server takes so many only:
those that were left long ago are looked at a last time and deleted.
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

__all__ = ["Load", "faults", "growth", "is_flat", "load", "work"]

KEPT = 100  # experiments that were left and are on the server still
WARM_UP = 20  # seconds until memory has to be flat
FLAT = 0.02  # of it, by which the last quarter of the time after that may be above the first
INPUTS = [{"name": "a", "low": -5, "high": 10}, {"name": "b", "low": 0, "high": 15}]


def _lists() -> Any:
    return collections.defaultdict(list)


@dataclasses.dataclass
class Load:
    """What was measured.

    Attributes:
        told: the readings that were answered, by experiment: they are all different.
        asked: the points that were given out, by experiment.
        times: seconds of each answered request, by what it was.
        memory: resident MB of the server, once a second.
        refused: what the server did not want, by its sentence.
        states: the experiments as they were at last, by id.
        late: requests sent later than half a second after their time.
    """

    told: dict[str, list[float]] = dataclasses.field(default_factory=_lists)
    asked: dict[str, list[tuple]] = dataclasses.field(default_factory=_lists)
    times: dict[str, list[float]] = dataclasses.field(default_factory=_lists)
    memory: list[float] = dataclasses.field(default_factory=list)
    refused: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    states: dict[str, Any] = dataclasses.field(default_factory=dict)
    late: int = 0


class _Slots:
    """The experiments of the moment."""

    def __init__(self, count: int, budget: int, found: Load):
        self.budget, self.ids, self.locks = budget, [""] * count, [asyncio.Lock() for _ in range(count)]
        self.found, self.left = found, list[str]()
        self.at_work = collections.Counter[str]()  # clients from before they ask until they have told

    async def fill(self, client: Client, slot: int, full: str) -> None:
        """A new experiment in the place of a full one."""
        async with self.locks[slot]:
            if self.ids[slot] != full:
                return
            body = {"name": f"load {slot}", "inputs": INPUTS, "budget": self.budget}
            self.ids[slot] = (await client("POST", "/experiments", body))["id"]
        self.left.extend([full] if full else [])
        idle = [name for name in self.left if not self.at_work[name]]
        if len(self.left) > KEPT and idle:
            self.left.remove(idle[0])
            await self.look(client, idle[0])
            await client("DELETE", f"/experiments/{idle[0]}", {"confirm": idle[0]})

    async def look(self, client: Client, name: str) -> None:
        """Keep what the server knows of an experiment."""
        self.found.states[name] = await client("GET", f"/experiments/{name}")


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
        slots.at_work[name] += x is None
        y = rng.random()
        begin = time.perf_counter()
        try:
            answer = await client(
                "POST", f"/experiments/{name}/{what}", {} if x is None else {"x": x, "y": y}
            )
        except RefusedError as error:
            held = None
            slots.at_work[name] -= 1
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
            slots.at_work[name] -= 1
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


async def work(
    pid: int, port: int, clients: int, experiments: int, budget: int, seconds: float, rate: float
) -> Load:
    """What was measured at a server (of this process: pid 0)."""
    found, first = Load(), Client(port)
    await _warm(first, budget)
    slots = _Slots(experiments, budget, found)
    for slot in range(experiments):
        await slots.fill(first, slot, "")
    end = time.monotonic() + seconds
    own = [Client(port) for _ in range(clients)]
    jobs = [_client(i, each, slots, end, rate, found) for i, each in enumerate(own)]
    await asyncio.gather(_memory(pid, end, found), *jobs)
    for name in {*slots.ids, *slots.left}:
        await slots.look(first, name)
    for each in [first, *own]:
        await each.close()
    return found


def load(clients: int, experiments: int, budget: int, seconds: float, rate: float, directory: Path) -> Load:
    """Run, and return what was measured."""
    with running(directory) as (process, port):
        return asyncio.run(work(process.pid, port, clients, experiments, budget, seconds, rate))


def faults(found: Load) -> collections.Counter:
    """Readings lost or doubled, and points given out twice."""
    tally = collections.Counter({"lost": 0, "doubled": 0, "points given out twice": 0})
    for name, state in found.states.items():
        there = collections.Counter(point["y"] for point in state["points"])
        tally["lost"] += sum(1 for y in found.told[name] if y not in there)
        tally["doubled"] += sum(count - 1 for count in there.values())
        tally["points given out twice"] += len(found.asked[name]) - len(set(found.asked[name]))
    return tally


def growth(memory: list[float]) -> tuple[list[float], float, float]:
    """Medians of the four quarters of the time, how it grew in MB a minute, and the error of that."""
    quarters = [float(np.median(part)) for part in np.array_split(memory, 4)]
    (slope, _), spread = np.polyfit(np.arange(len(memory)) / 60, memory, 1, cov=True)
    return quarters, float(slope), float(spread[0, 0] ** 0.5)


def is_flat(memory: list[float]) -> bool:
    """Whether the last quarter is hardly above the first."""
    first, *_, last = growth(memory)[0]
    return last <= first * (1 + FLAT)


def main(
    clients: int = 50, experiments: int = 20, budget: int = 60, seconds: float = 60, rate: float = 2
) -> None:
    """Load a server and print what happened.

    Args:
        clients: how many, each with one connection.
        experiments: how many at any time.
        budget: points of each.
        seconds: how long; at least half a minute, for memory is judged after a warm-up of 20 s.
        rate: requests of each client in a second.
    """
    busy = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as directory:
        found = load(clients, experiments, budget, seconds, rate, Path(directory))
    tally = faults(found)
    print(
        f"{clients} clients, {len(found.states)} experiments, {os.cpu_count()} cores, load {busy:.1f} before"
    )
    for what, times in found.times.items():
        p50, p99, most = 1e3 * np.quantile(times, [0.5, 0.99, 1])
        print(f"{what}: {len(times)} answered, median {p50:.1f} ms, p99 {p99:.1f} ms, most {most:.1f} ms")
    quarters, slope, spread = growth(found.memory[WARM_UP:])
    flat = is_flat(found.memory[WARM_UP:])
    print(
        f"resident: {found.memory[0]:.0f} MB at first; after {WARM_UP} s "
        f"{', '.join(f'{quarter:.0f}' for quarter in quarters)} MB in each quarter of the rest, "
        f"{slope:+.1f} +- {spread:.1f} MB a minute, {'flat' if flat else 'NOT FLAT'}; late: {found.late}"
    )
    print(", ".join(f"{count} {what}" for what, count in (tally + found.refused).items()) or "0 faults")
    raise SystemExit(bool(tally.total() or found.refused.total() or not flat))


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
