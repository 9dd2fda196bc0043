"""What one training step costs: alx against the PyTorch twin and this machine's matrix products."""

import dataclasses
import itertools
import math
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from json import dumps
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from alx.io.files import write_bytes
from alx.io.provenance import of_run
from alx.train.simulate import Batch

__all__ = ["Case", "flops", "train"]

PAPER_BATCH = Batch(25, 25, 10)
TWIN_CHUNK = Batch(5, 25, 10)  # the fastest for PyTorch of 50, 250, 1250 and 6250 experiments at once
GROWTH_BATCH = Batch(5, 25, 10)  # several chunks per device, as a whole batch has
LARGE = 40  # a budget whose batch would not fit memory at once
Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Case:
    """One measurement: the paper's network, and who trains it."""

    contender: str
    dim: int = 2
    T: int = 20
    n_init: int = 1
    objective: str = "entropy"
    batch: Batch = PAPER_BATCH


def train(
    sizes: tuple[tuple[int, int], ...] = ((1, 10), (2, 20)),
    objectives: tuple[str, ...] = ("entropy", "regularized-entropy"),
    growth: tuple[int, ...] = (10, 20, 40, 80),
    repeats: int = 3,
    json: Path | None = None,
) -> None:
    """Seconds per training step at equal work, GFLOP/s, peak memory, and growth with the budget.

    At the end, one step of the paper's whole regularised batch at twice its budget, for its memory.

    Args:
        sizes: pairs of D and T.
        objectives: what is trained on.
        growth: budgets T, and points given before T = 10 queries, whose cost is compared; none to skip.
        repeats: steps of each, of which the fastest counts.
        json: write the figures to this file as well.
    """
    rows: list[Row] = []
    for (dim, T), objective in itertools.product(sizes, objectives):
        cases = [Case(name, dim, T, objective=objective) for name in CONTENDERS]
        rows += _compare(cases, repeats)
    print_steps(rows)
    by_budget = [measure([Case("alx", 2, T, batch=GROWTH_BATCH)], repeats)[0] for T in growth]
    print_growth("T", growth, by_budget)
    by_capacity = [measure([Case("alx", 2, 10, n, batch=GROWTH_BATCH)], repeats)[0] for n in growth]
    print_growth("points given before 10 queries", growth, by_capacity)
    large = measure([Case("alx", 2, LARGE, objective="regularized-entropy")], repeats=1)[0]
    print(
        f"D = 2, T = {LARGE}, regularized-entropy: {large['seconds']:.1f} s, peak {large['peak_mib']:.0f} MiB"
    )
    if json is not None:
        growths = {"growth_with_T": by_budget, "growth_with_capacity": by_capacity}
        result = {"steps": rows, "large": large} | growths
        write_bytes(json, dumps(result | of_run() | {"cores": _cores()}, indent=1).encode())


def _compare(cases: list[Case], repeats: int) -> list[Row]:
    """The rows of one table block, with GFLOP/s and ratios."""
    rows = measure(cases, repeats)
    seconds = {row["contender"]: row["seconds"] for row in rows}
    peak = 2 * PRODUCT**3 / seconds["product"] / 1e9
    for row in rows:
        if row["contender"] == "product":
            row["gflops"] = peak
            continue
        work = flops(row["dim"], row["T"], row["n_init"]) * math.prod(row["batch"])
        row["gflops"] = work / row["seconds"] / 1e9
        row["of_peak"] = row["gflops"] / peak
        row["of_twin"] = row["seconds"] / seconds["twin"]
    return rows


def flops(dim: int, T: int, n_init: int = 1, width: int = 32, hidden: int = 512) -> int:
    """Operations of the network in one experiment's gradient: three times those of its forward pass.

    Counted as they are needed: each point encoded once, no padding, nothing computed twice.
    """
    dense = 2 * width * width
    total = (n_init + T - 1) * 2 * ((dim + 1) * hidden + hidden * width)
    for n in range(n_init, n_init + T):
        block = n * (5 * dense + 4 * width * n)
        # The first block's query, key and value of a point do not change.
        total += 2 * block - (n - 1) * 3 * dense + dense + 2 * (width * hidden + hidden * dim)
    return 3 * total


def measure(cases: list[Case], repeats: int) -> list[Row]:
    """Each case in a process of its own, one step at a time in turns; the fastest step counts."""
    context = multiprocessing.get_context("spawn")
    workers = []
    for case in cases:
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(case, there), daemon=True)
        process.start()
        there.close()
        workers.append((case, here, process, here.recv()))
    times: list[list[float]] = [[] for _ in cases]
    for _ in range(repeats):
        for (_, pipe, _, _), mine in zip(workers, times, strict=True):
            pipe.send("step")
            mine.append(pipe.recv())
    rows = []
    for (case, pipe, process, compiling), mine in zip(workers, times, strict=True):
        pipe.send("stop")
        peak_mib = pipe.recv()
        process.join()
        row = dataclasses.asdict(case)
        rows.append(row | {"seconds": min(mine), "first_step_seconds": compiling, "peak_mib": peak_mib})
    return rows


def _serve(case: Case, pipe) -> None:
    """Prepare, report how long that took, then do a step whenever asked."""
    begin = time.perf_counter()
    step = CONTENDERS[case.contender](case)
    step()
    pipe.send(time.perf_counter() - begin)
    while pipe.recv() == "step":
        begin = time.perf_counter()
        step()
        pipe.send(time.perf_counter() - begin)
    pipe.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _alx(case: Case) -> Callable[[], None]:
    import jax

    from alx.train import config as presets
    from alx.train import step as training

    jax.config.update("jax_num_cpu_devices", _cores())
    config = presets.paper(case.dim, case.T, case.objective)
    policy = dataclasses.replace(config.policy, n_init=case.n_init)
    config = dataclasses.replace(config, policy=policy, batch=case.batch)
    mesh = training.make_mesh()
    compiled, state = training.make_step(config, mesh), training.initial_state(config, mesh)

    def step() -> None:
        nonlocal state
        state, metrics = compiled(state)
        float(metrics["loss"])

    return step


def _twin(case: Case) -> Callable[[], None]:
    import torch

    from benchmarks.speed.torch_training import train_step
    from benchmarks.speed.torch_twin import Twin

    torch.set_num_threads(_cores())
    twin = Twin(case.dim)
    optimizer = torch.optim.RAdam(twin.parameters(), lr=1e-3)

    def step() -> None:
        train_step(twin, optimizer, case.batch, case.dim, case.T, case.objective, TWIN_CHUNK)

    return step


PRODUCT = 4096


def _product(case: Case) -> Callable[[], None]:
    import torch

    torch.set_num_threads(_cores())
    a, b, c = (torch.rand(PRODUCT, PRODUCT) for _ in range(3))

    def step() -> None:
        torch.mm(a, b, out=c)

    return step


Prepare = Callable[[Case], Callable[[], None]]
CONTENDERS: dict[str, Prepare] = {"alx": _alx, "twin": _twin, "product": _product}


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


COSTS = ("peak MiB", "first s")


def _costs(row: Row) -> tuple[str, str]:
    """Memory, and the time until the first step is done, most of which is compilation."""
    return f"{row['peak_mib']:.0f}", f"{row['first_step_seconds']:.0f}"


def print_steps(rows: list[Row]) -> None:
    """The table of steps at equal work."""
    if not rows:
        return
    table = Table(title=f"One training step, {PAPER_BATCH.experiments} experiments, {_cores()} cores")
    for name in ("D", "T", "objective", "who", "s/step", "of twin", "GFLOP/s", "of peak", *COSTS):
        table.add_column(name, justify="left" if name in ("objective", "who") else "right")
    for row in rows:
        own = [f"{row[key]:.2f}" if key in row else "" for key in ("of_twin", "gflops", "of_peak")]
        if row["contender"] == "product":
            own[1] = f"{row['gflops']:.0f}"
        numbers = (f"{row['seconds']:.2f}", *own, *_costs(row))
        table.add_row(str(row["dim"]), str(row["T"]), row["objective"], row["contender"], *numbers)
    Console(width=110).print(table)


def print_growth(name: str, values: tuple[int, ...], rows: list[Row]) -> None:
    """Time against a size, with the exponent from one to the next."""
    if not rows:
        return
    table = Table(title=f"Growth with {name}: alx, D = 2, entropy, {GROWTH_BATCH.experiments} experiments")
    for column in (name, "s/step", "exponent", *COSTS):
        table.add_column(column, justify="right")
    previous: tuple[int, float] | None = None
    for value, row in zip(values, rows, strict=True):
        exponent = ""
        if previous is not None:
            exponent = f"{math.log(row['seconds'] / previous[1]) / math.log(value / previous[0]):.2f}"
        previous = value, row["seconds"]
        table.add_row(str(value), f"{row['seconds']:.3f}", exponent, *_costs(row))
    if len(rows) > 1:
        overall = math.log(rows[-1]["seconds"] / rows[0]["seconds"]) / math.log(values[-1] / values[0])
        table.caption = f"From {values[0]} to {values[-1]}: exponent {overall:.2f}"
    Console(width=110).print(table)
