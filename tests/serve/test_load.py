"""Small parts of ``python -m benchmarks.reliability.serve_load`` and ``serve_kills``."""

import asyncio
import collections
import dataclasses

import numpy as np
import pytest

from benchmarks.reliability import serve_kills, serve_load


def test_nothing_is_lost_or_doubled_under_load(server, monkeypatch):
    monkeypatch.setattr(serve_load, "KEPT", 1)
    found = asyncio.run(serve_load.work(0, server.port, 6, 2, 6, 2.0, 10.0))
    assert serve_load.faults(found).total() == 0
    assert not found.refused
    assert sum(map(len, found.told.values())) > 15
    assert found.states.keys() == found.asked.keys()
    assert len(server("GET", "")["experiments"]) < len(found.states)
    (name, told), *_ = found.told.items()
    lost = dataclasses.replace(found, told=found.told | {name: [*told, 2.0]})
    assert serve_load.faults(lost)["lost"] == 1


def test_growth_is_seen_and_noise_is_not():
    noise = np.random.default_rng(0).normal(0, 5, 60)
    quarters, slope, spread = serve_load.growth(list(500 + np.arange(60) + noise))
    assert quarters[-1] - quarters[0] == pytest.approx(45, abs=10)
    assert slope == pytest.approx(60, abs=3 * spread)
    assert serve_load.is_flat(list(500 + noise))
    assert not serve_load.is_flat(list(500 + 0.5 * np.arange(60) + noise))


def test_a_missing_reading_would_be_seen(server):
    teller, tally = serve_kills.Teller(1), collections.Counter()
    path = server.new()
    teller.name, teller.answered = path[1:], {path[1:]: [1.0, 2.0]}
    server("POST", path + "/tell", {"x": [0.5], "y": 1})
    server("POST", path + "/tell", {"x": [0.5], "y": 1, "repeat": True})
    asyncio.run(serve_kills.check(server.port, [teller], tally))
    assert (tally["lost"], tally["doubled"], tally["never sent"]) == (1, 1, 0)
