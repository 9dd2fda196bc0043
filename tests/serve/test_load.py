"""Small parts of ``python -m benchmarks.reliability.serve_load`` and ``serve_kills``."""

import asyncio
import collections
import dataclasses

from benchmarks.reliability import serve_kills, serve_load


def test_nothing_is_lost_or_doubled_under_load(server):
    found, states = asyncio.run(serve_load.work(0, server.port, 6, 2, 8, 1.0, 10.0))
    assert serve_load.faults(found, states).total() == 0
    assert not found.refused
    assert sum(map(len, found.told.values())) > 15
    (name, told), *_ = found.told.items()
    lost = dataclasses.replace(found, told=found.told | {name: [*told, 2.0]})
    assert serve_load.faults(lost, states)["lost"] == 1


def test_a_missing_reading_would_be_seen(server):
    teller, tally = serve_kills.Teller(1), collections.Counter()
    path = server.new()
    teller.name, teller.answered = path[1:], {path[1:]: [1.0, 2.0]}
    server("POST", path + "/tell", {"x": [0.5], "y": 1})
    server("POST", path + "/tell", {"x": [0.5], "y": 1, "repeat": True})
    asyncio.run(serve_kills.check(server.port, [teller], tally))
    assert (tally["lost"], tally["doubled"], tally["never sent"]) == (1, 1, 0)
