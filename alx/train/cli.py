"""The command line of training: python train.py --dim 2 --T 20

A config is the command line: a `GeneralConfig` for the general policy, a `TrainConfig` for other networks.
Some of its defaults depend on other choices: those are looked at first, and the preset they lead to is what
all else changes, and what --help shows.
"""

import dataclasses
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import jax
import tyro

from alx.network.policy import NETWORKS
from alx.train import config as presets
from alx.train import general_config, plugin, run
from alx.train.config import TrainConfig
from alx.train.devices import start_devices
from alx.train.flags import SYNTAX
from alx.train.general_config import JUDGE, GeneralConfig
from alx.train.general_trainer import GeneralTrainer
from alx.train.prior import PRIORS, Prior
from alx.train.seeds import train_seeds
from alx.train.trainer import RolloutTrainer

__all__ = ["Arguments", "main", "parse"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Common:
    """What is read first, before the config, and what is no part of it.

    Attributes:
        paper: the paper's own recipe: its network, prior, batch and number of steps.
        prior: paper, wide, nonstationary, broad, unit, or module:name of one of your own; by default
            paper for the paper's network, else unit with lengthscales of 0.08 to 4. The distributions and
            shares below change it.
        resume: continue the run in this directory.
        devices: on CPU, how many devices to make (one per core).
        coordinator: several processes: HOST:PORT of the first.
        process_id: several processes: the number of this one, from 0.
        num_processes: several processes: how many there are.
    """

    paper: bool = False
    prior: str | None = None
    resume: Path | None = None
    devices: int | None = None
    coordinator: str | None = None
    process_id: int | None = None
    num_processes: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Choices(Common):
    """What other defaults depend on, and what has to be known before anything of a user is imported."""

    dim: tuple[int, ...] | None = None
    T: tuple[int, ...] | None = None
    n_init: tuple[int, ...] | None = None
    network: str | None = None
    objective: str | None = None
    myopic: bool = False
    steps: int | None = None


Config = TrainConfig | GeneralConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Arguments(Common):
    """Train a policy on simulated functions and write it to a file.

    A distribution is a name of numpyro and its numbers, such as LogNormal -1 1; two numbers alone are the
    ends of a log-uniform range. The defaults shown are those of the other choices made, or of --dim 2 --T 20.

    Attributes:
        seeds: train so many seeds, from `seed` on, and keep the best by the mean of the last 500 losses.
        out: directory of the run (runs/<dim, T, objective, network, seed>).
    """

    seeds: int = 1
    out: Path | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class RolloutArguments(Arguments):
    """Train a network that maps the points straight to the next one, such as the paper's.

    Attributes:
        config: what to train.
    """

    config: TrainConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class GeneralArguments(Arguments):
    """Train the general policy, for one case or for ranges: --dim 1 6 --T 5 60 --n-init 0 30.

    Attributes:
        config: what to train.
    """

    config: GeneralConfig


def main() -> int:
    words = sys.argv[1:]
    sys.path.insert(0, os.getcwd())  # where a user's module:name is looked for
    out = None
    try:
        choices = first_choices(words)
        start_devices(choices.devices, choices.coordinator, choices.process_id, choices.num_processes)
        arguments = parse(words)
        out, trainer = prepare(arguments, command(words))
        best = train_seeds(out, arguments.seeds, trainer)
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
        print(f"policy: {best}\nnext:   {next_command(best, arguments.config)}")
    return 0


def how_to_go_on(out: Path | None) -> str:
    return f"; go on with: python train.py --resume {out}" if out else ""


def next_command(policy: Path, config: Config) -> str:
    """The suite of the paper is for its kind of policy; others have points of their own, of any dimension."""
    if isinstance(config, TrainConfig) and config.policy.network not in NETWORKS:
        module = config.policy.network.partition(":")[0]
        return f'in Python: import alx, {module}; policy = alx.load("{policy}")'
    if isinstance(config, GeneralConfig) or config.policy.dim > 2:
        return f"python -m alx propose POINTS.csv --policy {policy}"
    dim, T = config.policy.dim, config.policy.T
    return f"python evaluate.py --suite paper-{dim}d --policy {policy}{f' --budget {T}' * (10 * dim != T)}"


def first_choices(words: list[str]) -> Choices:
    choices, _ = tyro.cli(Choices, args=words, return_unknown_args=True, add_help=False, **SYNTAX)
    return choices


def parse(words: list[str]) -> RolloutArguments | GeneralArguments:
    """What is asked for, on top of the preset it starts from or of the run it goes on with."""
    choices = first_choices(words)
    if choices.resume is not None:
        stored = run.read(choices.resume)
        config, seeds = stored.trainer.config, stored.seeds
    else:
        config, seeds = preset(choices, asked="--help" in words or "-h" in words), 1
    if isinstance(config, GeneralConfig):
        begin = GeneralArguments(config=config, seeds=seeds)
    else:
        begin = RolloutArguments(config=config, seeds=seeds)
    arguments = tyro.cli(type(begin), prog="train.py", args=words, default=begin, **SYNTAX)
    if arguments.seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {arguments.seeds}")
    return arguments


def preset(choices: Choices, asked: bool = False) -> Config:
    """The preset that the choices lead to; `asked` for help they may be incomplete."""
    if (choices.dim is None or choices.T is None) and not asked:
        raise ValueError("--dim and --T are needed, such as --dim 2 --T 20")
    dims: tuple[int, ...] = choices.dim or (2,)
    Ts: tuple[int, ...] = choices.T or (20,)
    if choices.network is not None:  # imports one of a user's
        plugin.find(choices.network, {JUDGE.network: None, **NETWORKS}, "network")
    if not choices.paper and choices.network in (None, JUDGE.network):
        if choices.objective is not None or choices.myopic:
            raise ValueError(
                "the general policy has an objective of its own: add --network paper, or --paper, for others"
            )
        config = general_config.default(dims, Ts, choices.n_init or (1,))
        if choices.steps is not None:
            config = general_config.with_steps(config, choices.steps)
    else:
        if len(dims) > 1 or len(Ts) > 1:
            raise ValueError(f"--dim and --T of this network are one number each, got {dims} and {Ts}")
        names = ("objective", "network", *(("myopic",) if choices.paper else ("steps",)))
        given = {name: value for name in names if (value := getattr(choices, name)) is not None}
        config = (presets.paper if choices.paper else presets.default)(min(dims), min(Ts), **given)
    return config if choices.prior is None else dataclasses.replace(config, prior=find_prior(choices.prior))


def find_prior(name: str) -> Prior:
    found = plugin.find(name, PRIORS, "prior")
    if not isinstance(found, Prior):
        raise ValueError(f"prior {name!r} must be an alx.train.prior.Prior, got {found!r}")
    return found


def command(words: list[str]) -> str:
    """The command that makes the same run again, wherever its directory is."""
    words = list(words)
    while "--out" in words:
        place = words.index("--out")
        del words[place : place + 2]
    return shlex.join(["python", "train.py", *(word for word in words if not word.startswith("--out="))])


def trainer_of(config: Config) -> RolloutTrainer | GeneralTrainer:
    return GeneralTrainer(config) if isinstance(config, GeneralConfig) else RolloutTrainer(config)


def prepare(
    arguments: RolloutArguments | GeneralArguments, made_by: str
) -> tuple[Path, RolloutTrainer | GeneralTrainer]:
    """Check everything, and make or find the run."""
    config, out = arguments.config, arguments.resume
    if out is None:
        out = arguments.out or Path("runs") / default_name(config)
        if jax.process_index() == 0:
            run.create(out, trainer_of(config), made_by, arguments.seeds)
        return out, trainer_of(config)
    if arguments.out not in (None, out):
        raise ValueError(f"--out {arguments.out} and --resume {out} name two directories; give one")
    stored = run.read(out)
    old = {**flatten(stored.trainer.config), "seeds": stored.seeds}
    new = {**flatten(config), "seeds": arguments.seeds}
    differences = [f"{name} was {old[name]} and is {new[name]}" for name in old if old[name] != new[name]]
    if arguments.prior is not None and find_prior(arguments.prior) != stored.trainer.config.prior:
        differences.append(f"the prior was not {arguments.prior}")
    if arguments.paper:
        differences.append("--paper is for new runs")
    if differences:
        raise ValueError(
            f"--resume needs the config the run was started with: {'; '.join(differences)}; "
            f"to train longer or otherwise, make a new run with --start {out / run.POLICY}"
        )
    return out, stored.trainer


def flatten(config: Config) -> dict[str, Any]:
    """All that decides, by the names of the flags."""
    fields = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    network = fields.pop("judge" if isinstance(config, GeneralConfig) else "policy")
    return {**dataclasses.asdict(network), **fields.pop("prior").to_json(), **fields}


def default_name(config: Config) -> str:
    if isinstance(config, GeneralConfig):
        ranges = ("-".join(map(str, each)) for each in (config.dim, config.T, config.n_init))
        return "dim{}-T{}-given{}-seed{}".format(*ranges, config.seed)
    kind, _ = RolloutTrainer(config).phases[-1]
    kind = f"{'myopic-' if config.myopic else ''}{kind.replace(':', '.')}"
    return f"dim{config.policy.dim}-T{config.policy.T}-{kind}-{config.policy.network}-seed{config.seed}"
