"""Latency of small calls on a machine that does other things as well."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import jax
import numpy as np

__all__ = ["count_compilations", "race", "summary"]

TURN = 20  # calls in a row before the next one's turn
REST = 0.005  # seconds between turns, in which threads of the one before may come to rest


def race(calls: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, np.ndarray]:
    """Seconds of single calls of each function, after a warm-up.

    They take turns, so that a disturbance of the machine hits them alike, each after a rest and a call that
    does not count: none pays for the threads and the cache of the one before. A function gets calls for
    about ``seconds``, between 3 and 2000 of them.
    """
    budget = {name: _calls_in(call, seconds) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    gc.disable()
    try:
        while any(len(times[name]) < budget[name] for name in calls):
            for name, call in calls.items():
                turn = min(TURN, budget[name] - len(times[name]))
                if turn > 0:
                    time.sleep(REST)
                    call()
                times[name] += [_seconds(call) for _ in range(turn)]
    finally:
        gc.enable()
    return {name: np.array(values) for name, values in times.items()}


def _calls_in(call: Callable[[], object], seconds: float) -> int:
    call()
    typical = _seconds(call)
    for _ in range(min(100, int(0.1 * seconds / typical))):
        call()
    return int(np.clip(seconds / typical, 3, 2000))


def _seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def summary(times: np.ndarray) -> dict[str, float]:
    """Median and 99th percentile in milliseconds, and the number of calls."""
    median, p99 = 1e3 * np.quantile(times, [0.5, 0.99])
    return {"median_ms": float(median), "p99_ms": float(p99), "calls": len(times)}


@contextmanager
def count_compilations() -> Iterator[list[str]]:
    """A list that grows by one with every compilation of XLA inside the block."""
    seen: list[str] = []

    def listen(event: str, *_, **__) -> None:
        if event.endswith("backend_compile_duration"):
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield seen
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
