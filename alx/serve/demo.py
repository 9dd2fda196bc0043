"""A simulated bench, so that a newcomer sees an experiment live: the map of an engine."""

import asyncio

import numpy as np

from alx.serve import answers
from alx.serve.store import MissingError, Store

__all__ = ["bench"]

SPEC = {
    "name": "demo: an engine's fuel consumption",
    "inputs": [
        {"name": "speed", "low": 800.0, "high": 6000.0, "unit": "1/min"},
        {"name": "torque", "low": 10.0, "high": 300.0, "unit": "Nm"},
    ],
    "outputs": [{"name": "consumption", "unit": "g/kWh"}],
    "constraints": [{"coefficients": {"speed": 0.05, "torque": 1.0}, "at_most": 480.0}],
    "budget": 40,
    "goal": {"error": 6.0},
}
SECONDS = 1.5  # that a measurement takes
FIRST = (
    (1000.0, 40.0),
    (5200.0, 60.0),
    (3000.0, 150.0),
    (1400.0, 260.0),
)  # before anything is asked


async def bench(store: Store) -> None:
    """Make the demo experiment if it is not there, and measure what is left of its budget."""
    name = await store.create(SPEC, "demo")
    noise = np.random.default_rng()
    try:
        told = (await store.use(name, answers.summary))["told"]
        for x in FIRST[told:]:
            await _measure(store, name, list(x), noise)
        while True:
            state = await store.use(name, answers.summary)
            if state["remaining"] == 0 and state["waiting"] == 0:
                return
            waiting = (await store.use(name, lambda one: one.open().pending.tolist()))[:1]
            x = waiting or (await store.change(name, "ask", {}, None))["x"]
            await _measure(store, name, x[0], noise)
    except MissingError:  # somebody has deleted it
        return


async def _measure(store: Store, name: str, x: list[float], noise: np.random.Generator) -> None:
    await asyncio.sleep(SECONDS)
    await store.change(name, "tell", {"x": x, "y": consumption(*x) + float(noise.normal(0, 1.5))}, None)


def consumption(speed: float, torque: float) -> float:
    """An engine map: a hollow around 2200 1/min and 190 Nm, steep where the load is small."""
    s, t = speed / 1000, torque / 100
    return 225 + 7 * (s - 2.2) ** 2 + 22 * (t - 1.9 + 0.15 * (s - 2.2)) ** 2 + 18 / (t + 0.15)
