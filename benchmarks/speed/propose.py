"""What one query costs: alx against its PyTorch twin, this package's GP AL and BoTorch."""

import importlib.util
import itertools
import os
import time
from json import dumps
from pathlib import Path
from typing import Any

import jax
import numpy as np

import alx
from alx.io.files import write_bytes
from alx.io.provenance import of_run
from alx.network.policy import Policy, PolicyConfig, init
from alx.network.score_network import JudgeConfig
from benchmarks.evaluation import acquisition
from benchmarks.speed import contenders
from benchmarks.speed.timing import count_compilations, race, summary

__all__ = ["propose"]

BATCH = 1024
TWIN = "PyTorch twin (paper)"
Row = dict[str, Any]


def propose(
    dims: tuple[int, ...] = (1, 2),
    sizes: tuple[int, ...] = (1, 10, 20, 100),
    seconds: float = 1.0,
    json: Path | None = None,
) -> None:
    """Print median and p99 latency of single queries, the throughput of many, and ratios.

    Args:
        dims: numbers of inputs.
        sizes: numbers of points measured so far.
        seconds: how long each way is measured at each size.
        json: write the figures to this file as well.
    """
    # A call then runs in the thread that makes it, instead of waiting for another to wake up.
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    latency: list[Row] = []
    print(
        f"{'D':>2} {'n':>4} {'way to choose the next query':<32}{'median ms':>10}{'p99 ms':>10}{'x alx':>9}"
    )
    for dim, n in itertools.product(dims, sizes):
        rows = [{"D": dim, "n": n, **row} for row in _latencies(dim, n, seconds)]
        latency += rows
        for row in rows:
            ratio, times = row["median_ms"] / rows[0]["median_ms"], (row["median_ms"], row["p99_ms"])
            print(
                f"{dim:>2} {n:>4} {row['way']:<32}{times[0]:>10.3f}{times[1]:>10.3f}{ratio:>9.1f}", flush=True
            )
    throughput = _throughputs(seconds)
    print(f"\n{BATCH} experiments at once, D = 2, n = 20")
    for row in throughput:
        print(f"{row['way']:<32}{row['median_ms']:>10.1f} ms {row['per_second']:>12,.0f} queries/s")
    compilations = _compilations()
    print(f"\ncompilations of a learner's whole budget: {compilations}")
    if json is not None:
        result = {"latency": latency, "throughput": throughput, "compilations": compilations}
        write_bytes(json, dumps(result | of_run() | {"cores": os.cpu_count()}, indent=1).encode())


def _paper(dim: int) -> Policy:
    """Weights do not change the time, so fresh ones do."""
    config = PolicyConfig(dim, 10 * dim, network="paper")
    return Policy(init(jax.random.key(0), config), config)


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _latencies(dim: int, n: int, seconds: float) -> list[Row]:
    rng = np.random.default_rng(0)
    x, y = rng.random((n, dim)), rng.normal(size=n)
    general, paper = alx.load(), _paper(dim)
    calls = {
        "alx, belief up to date": contenders.warm(general, x, y),
        "alx.propose": contenders.propose(general, x, y),
        "alx.propose, the paper's network": contenders.propose(paper, x, y),
    }
    if _has("torch"):
        calls[TWIN] = contenders.twin(paper, x, y)
    calls["GP AL"] = contenders.gp_al(x, y)
    calls["GP AL, int. variance"] = contenders.gp_al(x, y, acquisition.integrated_variance)
    if _has("botorch"):
        calls["BoTorch fit + variance argmax"] = contenders.botorch(x, y)
    times = race(calls, seconds)
    times |= _asks(general, x, y, len(times["alx.propose"]))
    return [{"way": way, **summary(values)} for way, values in times.items()]


def _asks(policy: Policy, x: np.ndarray, y: np.ndarray, calls: int) -> dict[str, np.ndarray]:
    """An ask and the decision within it, each after a tell, for that leaves other things in the cache."""
    tell, ask, decide = contenders.tell_and_ask(policy, x, y)
    times: dict[str, list[float]] = {"learner.ask": [], "the decision in it": []}
    for call in (ask, decide):  # compiled before anything counts
        tell()
        call()
    for call in (ask, decide) * calls:
        tell()
        begin = time.perf_counter()
        call()
        times["learner.ask" if call is ask else "the decision in it"].append(time.perf_counter() - begin)
    return {way: np.array(values) for way, values in times.items()}


def _throughputs(seconds: float) -> list[Row]:
    rng = np.random.default_rng(0)
    x, y = rng.random((BATCH, 20, 2)), rng.normal(size=(BATCH, 20))
    paper = _paper(2)
    calls = {
        "vmapped alx.propose": contenders.throughput(alx.load(), x, y),
        "vmapped alx.propose, the paper's network": contenders.throughput(paper, x, y),
    }
    if _has("torch"):
        calls[TWIN] = contenders.twin_batch(paper, x, y)
    rows = [{"way": way, **summary(times)} for way, times in race(calls, 5 * seconds).items()]
    return [row | {"per_second": 1e3 * BATCH / row["median_ms"]} for row in rows]


def _compilations() -> dict[str, int]:
    """How many there are for a policy not seen before, and for its next learner."""
    config = JudgeConfig()
    policy = Policy(init(jax.random.key(1), config), config)
    found = {}
    for which in ("first", "second"):
        with count_compilations() as seen:
            learner = alx.Learner(policy, [(0, 1)] * 2, budget=20)
            while learner.remaining:
                learner.tell(learner.ask(), 0.0)
        found[which] = len(seen)
    return found
