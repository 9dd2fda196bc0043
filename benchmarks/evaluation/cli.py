"""The command line of the evaluation."""

import dataclasses
import itertools
import shlex
import sys
import time
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.evaluation import report, runner
from benchmarks.evaluation.registry import label
from benchmarks.evaluation.tables import Evaluation, console_tables


@dataclasses.dataclass(frozen=True)
class Options:
    """Compare alx with GP AL, maximin, Sobol and Random on tasks, and write a report.

    Stop it at any time: the same command goes on where it was.

    Attributes:
        suite: all (the paper's six), paper-1d, paper-2d, real, uq, or names of tasks, with commas between;
            all unless --csv or --task is given.
        task: a task of your own beside: module:function, a function that returns a Task.
        csv: a table of your own, as a pool: its header names the columns.
        target: the column of the CSV to be learned; all others are inputs.
        policy: policy files to evaluate beside.
        method: a method to run beside: a name, or module:function, a function of the history that returns x.
        methods: only these, with commas between: names or default, paper, ablation, bench; the name of a
            policy file is its stem.
        seeds: number of paired repeats; at least 5 for a test to be significant.
        budget: number of queries T; 10 per input by default and at most 30.
        out: directory of the results.
        data_dir: directory with lgbb_original.txt.
    """

    suite: str | None = None
    task: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    csv: Path | None = None
    target: str | None = None
    policy: Annotated[
        tuple[tuple[str, ...], ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="FILE [FILE ...]")
    ] = ()
    method: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    methods: str | None = None
    seeds: int = 20
    budget: int | None = None
    out: Path = Path("results")
    data_dir: Path | None = None


def check(options: Options) -> None:
    """Bad values, before any work."""
    if options.seeds < 1:
        raise ValueError(f"--seeds is {options.seeds}, but must be at least 1.")
    if options.budget is not None and options.budget < 1:
        raise ValueError(f"--budget is {options.budget}, but must be at least 1.")
    if options.target is not None and options.csv is None:
        raise ValueError(f"--target is {options.target}, but without --csv FILE there is no table.")
    if options.out.exists() and not options.out.is_dir():
        raise ValueError(f"--out is {options.out}, which is a file, but must be a directory.")


def evaluate(options: Options, console: Console) -> Evaluation:
    """Plan, run with a progress display, report."""
    check(options)
    started = time.perf_counter()
    origin = runner.environment(shlex.join(["python", "evaluate.py", *sys.argv[1:]]))
    suite = options.suite or ("" if options.csv or options.task else "all")
    tasks, notes = runner.load_tasks(suite, options.csv, options.target, options.data_dir, options.task)
    policies = tuple(itertools.chain.from_iterable(options.policy))
    plan = runner.plan(tasks, policies, options.methods, options.seeds, options.budget, options.method)
    for note in notes + plan.notes:
        console.print(note, markup=False)
    show(plan, options, origin, console)
    evaluation = Evaluation(
        plan.tasks,
        plan.methods,
        runner.finished(plan, options.out),
        options.seeds,
        notes + plan.notes,
        origin,
        plan.records,
    )
    path = report.write(evaluation, options.out)
    console_tables(evaluation, console)
    console.print(f"{path} written after {time.perf_counter() - started:.0f} s.", markup=False)
    return evaluation


def show(plan: runner.Plan, options: Options, origin: dict, console: Console) -> None:
    """Run the plan under a live display of task, method, seeds done and time left."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("runs,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        total = sum(len(unit.seeds) for unit in plan.units)
        bar = progress.add_task("", total=total)
        for unit, done in runner.run(plan, options.out, origin):
            count = unit.seeds[-1] + 1 if done else unit.seeds[0]
            description = f"{unit.task.name}, {label(unit.method.name)}: {count}/{options.seeds} seeds"
            progress.update(bar, description=description, advance=len(unit.seeds) * done)


def main() -> None:
    """Bad input ends in one sentence and exit code 2."""
    options = tyro.cli(Options, prog="evaluate.py")
    try:
        evaluate(options, Console())
    except (ValueError, OSError) as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("evaluate.py: stopped; the same command goes on where it was.", file=sys.stderr)
        raise SystemExit(130) from None
