"""Train a policy on simulated functions: python train.py --dim 2 --T 20"""

import dataclasses
import math
import os
import sys
from pathlib import Path

import jax
import tyro

from alx.io import cache, files
from alx.train import recipes, run
from alx.train.objectives import CONTRASTIVE
from alx.train.progress import Progress
from alx.train.recipes import Request
from alx.train.step import TrainConfig


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Train a policy on simulated functions and write it to a file.

    Attributes:
        request: what to train.
        out: directory of the run (default: runs/<dim, T, objective, seed>).
        resume: continue the run in this directory.
        devices: on CPU, how many devices to make (default: one per core).
        coordinator: several processes: HOST:PORT of the first.
        process_id: several processes: the number of this one, from 0.
        num_processes: several processes: how many there are.
    """

    request: tyro.conf.OmitArgPrefixes[Request] = dataclasses.field(default_factory=Request)
    out: Path | None = None
    resume: Path | None = None
    devices: int | None = None
    coordinator: str | None = None
    process_id: int | None = None
    num_processes: int | None = None


def main() -> int:
    arguments = tyro.cli(Arguments, config=(tyro.conf.FlagCreatePairsOff,))
    out = arguments.resume
    try:
        out, request, config = prepare(arguments)
        best = train_seeds(out, request, config)
    except ValueError as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    except run.DivergedError as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"train.py: {error}{how_to_go_on(out)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\ntrain.py: interrupted{how_to_go_on(out)}", file=sys.stderr)
        return 130
    if jax.process_index() == 0:
        print(f"policy: {best}\nnext:   python evaluate.py --policy {best}")
    return 0


def how_to_go_on(out: Path | None) -> str:
    return f"; go on with: python train.py --resume {out}" if out else ""


def prepare(arguments: Arguments) -> tuple[Path, Request, TrainConfig]:
    """Check everything, set up the devices, and make or find the run."""
    if arguments.resume is not None:
        out, (stored, config) = arguments.resume, run.read_config(arguments.resume)
        request = merge(stored, arguments.request)
        check_same(
            {**flatten(config), "seeds": stored.seeds or 1},
            {**flatten(recipes.config(request)), "seeds": request.seeds or 1},
        )
        if arguments.out not in (None, out):
            raise ValueError(f"--out {arguments.out} and --resume {out} name two directories; give one")
    else:
        request, config = arguments.request, recipes.config(arguments.request)
        out = arguments.out or Path("runs") / default_name(config)
    start_devices(arguments)
    if arguments.resume is None and jax.process_index() == 0:
        run.create(out, request, config)
    return out, request, config


def merge(stored: Request, given: Request) -> Request:
    """The stored request with what was given anew."""
    plain = Request()
    changed = {
        field.name: getattr(given, field.name)
        for field in dataclasses.fields(Request)
        if getattr(given, field.name) != getattr(plain, field.name)
    }
    return dataclasses.replace(stored, **changed)


def check_same(old: dict, new: dict) -> None:
    differences = [f"{name} was {old[name]} and is {new[name]}" for name in old if old[name] != new[name]]
    if differences:
        raise ValueError(f"--resume needs the config the run was started with: {'; '.join(differences)}")


def flatten(config: TrainConfig) -> dict:
    fields = dataclasses.asdict(config)
    return {**fields.pop("policy"), **fields.pop("prior"), **fields}


def default_name(config: TrainConfig) -> str:
    kind = f"{'myopic-' if config.myopic else ''}{config.objective}"
    return f"dim{config.policy.dim}-T{config.policy.T}-{kind}-{config.policy.network}-seed{config.seed}"


def start_devices(arguments: Arguments) -> None:
    """Use every device there is; on CPU one per core, each a single thread."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    devices = cores if arguments.devices is None else arguments.devices
    if devices < 1:
        raise ValueError(f"--devices must be at least 1, got {devices}")
    jax.config.update("jax_num_cpu_devices", devices)
    cache.enable()
    several = (arguments.coordinator, arguments.process_id, arguments.num_processes)
    if any(value is not None for value in several):
        if any(value is None for value in several):
            raise ValueError("--coordinator, --process-id and --num-processes go together")
        # It would catch SIGTERM and go on; here every checkpoint is on disk before the next epoch.
        jax.config.update("jax_enable_preemption_service", False)
        jax.distributed.initialize(*several[:1], num_processes=several[2], process_id=several[1])


def train_seeds(out: Path, request: Request, config: TrainConfig) -> Path:
    """Train each seed in a directory of its own, if there are several; returns the best policy's file."""
    seeds = request.seeds or 1
    if seeds == 1:
        train_one(out, config)
        return out / run.POLICY
    losses = {}
    for seed in range(config.seed, config.seed + seeds):
        directory, own = out / f"seed-{seed}", dataclasses.replace(config, seed=seed)
        if not directory.exists() and jax.process_index() == 0:
            run.create(directory, dataclasses.replace(request, seed=seed, seeds=1), own)
        try:
            train_one(directory, own)
        except run.DivergedError as error:
            print(f"seed {seed}: {error}")
            continue
        losses[directory] = run.selection_loss(run.read_metrics(directory))
        print(f"seed {seed}: mean of the last 500 losses {losses[directory]:.4f}")
    if not losses:
        raise run.DivergedError("no seed ended with a finite loss; try a smaller --lr")
    best = min(losses, key=lambda directory: losses[directory])
    files.write_bytes(out / run.POLICY, (best / run.POLICY).read_bytes())
    print(f"best: {best}")
    return out / run.POLICY


def train_one(out: Path, config: TrainConfig) -> None:
    with Progress(config.steps, quiet=jax.process_index() > 0) as progress:
        last = run.train(config, out, progress.show)
    if jax.process_index() == 0:
        bound = f" (bound {-math.log(CONTRASTIVE + 1):.4f})" if config.objective == "dad" else ""
        print(
            f"{out}: {last['step']} steps, loss {last['loss']:.4f}{bound}, "
            f"validation RMSE {last['rmse']:.4f} "
            f"(uniform queries {last['rmse_uniform']:.4f}), {last['seconds'] / 60:.1f} minutes"
        )


if __name__ == "__main__":
    sys.exit(main())
