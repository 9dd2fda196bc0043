"""``python -m benchmarks.speed.learning``: validation RMSE against wall-clock, for ways to train.

Every variant sees the paper's prior and is scored on the same held-out functions. The clock counts training
only: compilation and validation are left out for all alike.
"""

import dataclasses
import os
import time
from json import dumps
from pathlib import Path

import jax
import tyro

from alx.io.files import write_bytes
from alx.io.provenance import of_run
from alx.train import config as presets
from alx.train import step as training
from alx.train.config import TrainConfig

__all__ = ["Curve", "learn", "main", "variants"]

PAPER, DEFAULT = "the paper's recipe: entropy, its batch", "default: entropy-v2, a kernel each"


@dataclasses.dataclass(frozen=True)
class Curve:
    """RMSE after so many seconds of training."""

    name: str
    seconds: list[float]
    steps: list[int]
    rmse: list[float]

    def seconds_to(self, rmse: float) -> float | None:
        """When the curve first was at `rmse` or below; None if never."""
        return next((s for s, value in zip(self.seconds, self.rmse, strict=True) if value <= rmse), None)


def variants(dim: int, T: int) -> dict[str, TrainConfig]:
    """The default, the paper's way, and what one of the two differences alone brings."""
    default = dataclasses.replace(presets.default(dim, T), steps=10**9)
    batch = presets.paper(dim, T).batch
    return {
        DEFAULT: default,
        "default, entropy": dataclasses.replace(default, objective="entropy"),
        "default, the paper's batch": dataclasses.replace(default, batch=batch),
        PAPER: dataclasses.replace(default, objective="entropy", batch=batch),
    }


def learn(name: str, config: TrainConfig, seconds: float) -> Curve:
    """Train for so long, with validations at growing intervals."""
    mesh = training.make_mesh()
    step, state = training.make_step(config, mesh), training.initial_state(config, mesh)
    validate, _ = training.make_validation(config, mesh)
    rmse, at, steps = [float(validate(state.params))], [0.0], [0]
    jax.block_until_ready(step(training.initial_state(config, mesh)))  # compile
    spent, due = 0.0, 0.02 * seconds
    while spent < seconds:
        begin = time.perf_counter()
        state, metrics = step(state)
        float(metrics["loss"])
        spent += time.perf_counter() - begin
        if spent >= min(due, seconds):
            due = 1.2 * spent
            rmse.append(float(validate(state.params)))
            at.append(spent)
            steps.append(int(state.step))
    return Curve(name, at, steps, rmse)


def plot(path: Path, curves: list[Curve], uniform: float, title: str) -> None:
    """One line per variant, seconds on a log scale."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for curve in curves:
        width = 2.5 if curve.name in (PAPER, DEFAULT) else 1.2
        axes.plot(curve.seconds[1:], curve.rmse[1:], label=curve.name, linewidth=width)
    axes.axhline(uniform, color="#999999", linestyle="--", label="uniform queries")
    axes.set(xscale="log", xlabel="seconds of training", ylabel="validation RMSE", title=title)
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def run(dim: int = 1, T: int = 10, seconds: float = 60, out: Path = Path("learning")) -> None:
    """Train each variant for the same time; writes OUT.json and OUT.png.

    Args:
        dim: number of inputs D.
        T: number of queries.
        seconds: training time of each variant.
        out: where to write, without the suffix.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    jax.config.update("jax_num_cpu_devices", cores)
    configs = variants(dim, T)
    uniform = float(training.make_validation(configs[DEFAULT], training.make_mesh())[1]({}))
    print(f"D = {dim}, T = {T}: uniform queries {uniform:.4f}")
    curves = []
    for name, config in configs.items():
        curves.append(learn(name, config, seconds))
        steps, rmse = curves[-1].steps, curves[-1].rmse
        print(f"{name:<40}{steps[-1]:>7} steps  RMSE {rmse[0]:.4f} -> {rmse[-1]:.4f}", flush=True)
    target = min(curves[-1].rmse)
    reached = {curve.name: curve.seconds_to(target) for curve in curves}
    print(f"seconds to the paper's best RMSE {target:.4f}:")
    for name, at in reached.items():
        print(f"{name:<40}{'never' if at is None else f'{at:.1f}':>8}")
    result = {"dim": dim, "T": T, "uniform": uniform, "curves": [dataclasses.asdict(c) for c in curves]}
    result |= {"target": target, "seconds_to_target": reached, "cores": cores} | of_run()
    write_bytes(out.with_suffix(".json"), dumps(result, indent=1).encode())
    plot(out.with_suffix(".png"), curves, uniform, f"D = {dim}, T = {T}, {cores} cores")


def main() -> None:
    """Run the command line."""
    tyro.cli(run, description=__doc__)


if __name__ == "__main__":
    main()
