"""What an evaluation found, as tables for the terminal and in Markdown."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.evaluation.comparison import verdict
from benchmarks.evaluation.registry import label
from benchmarks.evaluation.statistics import Summary, summarize
from benchmarks.evaluation.tasks import Task

__all__ = [
    "TIMES",
    "Evaluation",
    "cells",
    "console_tables",
    "every_number",
    "grid",
    "legend",
    "markdown",
    "markdown_grid",
    "points",
    "sentence",
]

EXTRA = ("p vs Random", "p vs GP AL", "query ms", "compile s")
LEGEND = (
    "RMSE after the last query, mean ± standard error over {seeds} paired seeds. "
    "* below Random, † below GP AL (one-sided Wilcoxon signed-rank test, p < 0.05)."
)
TIMES = (
    "Query ms: all T selections of one run, labelling and compilation excluded, median over the first seeds."
)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Everything a report is made from.

    Attributes:
        tasks: those that were run.
        methods: names in the order of the tables, and how many points each is given.
        rows: one per task, method and seed.
        seeds: how many were asked for.
        notes: what was not run, and why; one sentence each.
        environment: command, versions, commit and device.
        records: how each policy given by the user was trained, by method name.
    """

    tasks: list[Task]
    methods: dict[str, int]
    rows: list[dict[str, Any]]
    seeds: int
    notes: list[str]
    environment: dict[str, Any]
    records: dict[str, dict[str, Any]]

    @property
    def dims(self) -> list[int]:
        return sorted({task.dim for task in self.tasks})


def cell(summary: Summary | None) -> str:
    """mean ± standard error, and the marks."""
    return "" if summary is None else f"{summary.mean:.3f} ±{summary.error:.3f}{summary.marks}"


def cells(
    evaluation: Evaluation, tasks: list[str], methods: list[str]
) -> tuple[list[list[str]], list[list[bool]]]:
    """A line for each method that was run on any of the tasks, and which cells are the best of their task."""
    found = {(s.task, s.method): s for t in tasks for s in summarize(evaluation.rows, t, methods)}
    ran = [m for m in methods if any((t, m) in found for t in tasks)]
    best = {t: min((s.mean for s in found.values() if s.task == t), default=None) for t in tasks}
    lines = [[found.get((t, m)) for t in tasks] for m in ran]
    body = [[label(m), *map(cell, line)] for m, line in zip(ran, lines, strict=True)]
    return body, [[False, *(s is not None and s.mean == best[s.task] for s in line)] for line in lines]


def grid(evaluation: Evaluation, dim: int) -> tuple[list[str], list[list[str]], list[list[bool]]]:
    """Header, body and which cells are the best of their task, for the tasks of one dimension."""
    tasks = [task.name for task in evaluation.tasks if task.dim == dim]
    body, bold = cells(evaluation, tasks, [*evaluation.methods])
    names = {label(method): method for method in evaluation.methods}
    for line in body:
        times = [s.query_ms for t in tasks for s in summarize(evaluation.rows, t, [names[line[0]]])]
        line.append(_milliseconds(sum(times) / len(times)))
    return [f"D = {dim}", *tasks, "query ms"], body, [[*line, False] for line in bold]


def _milliseconds(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def legend(evaluation: Evaluation) -> str:
    """What the RMSEs of the tables are."""
    return f"{LEGEND.format(seeds=evaluation.seeds)} {points(evaluation)}"


def points(evaluation: Evaluation) -> str:
    """How many points each method had, in a sentence."""
    dims = {task.name: task.dim for task in evaluation.tasks}
    sizes: dict[int, set[int]] = {}
    for row in evaluation.rows:
        sizes.setdefault(len(row["x"]), set()).add(dims[row["task"]])
    total = " and ".join(
        f"{size} points (D = {', '.join(map(str, sorted(sizes[size])))})" for size in sorted(sizes)
    )
    by_given: dict[int, list[str]] = {}
    for method, given in evaluation.methods.items():
        by_given.setdefault(given, []).append(label(method))
    parts = [
        f"{given} for {' and '.join(map(repr, names))}" for given, names in by_given.items() if given != 1
    ]
    given = ", ".join([*parts, "1 for all others" if parts else "1"])
    return f"Each method had {total} in all, of which some were given at random: {given}."


def sentence(evaluation: Evaluation) -> str:
    """The verdict."""
    return verdict(evaluation.rows, [task.name for task in evaluation.tasks], [*evaluation.methods])


def console_tables(evaluation: Evaluation, console: Console) -> None:
    """Print the compact tables, one per dimension, or several where the terminal is too narrow for one; the
    best of each task in bold."""
    for dim in evaluation.dims:
        header, body, bold = grid(evaluation, dim)
        for columns in _parts([header, *body], console.width):
            table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
            for i in columns:
                table.add_column(header[i], justify="left" if i == 0 else "right", no_wrap=True)
            for line, marks in zip(body, bold, strict=True):
                table.add_row(*(f"[bold]{line[i]}[/bold]" if marks[i] else line[i] for i in columns))
            console.print(table)
    console.print(f"{legend(evaluation)} {TIMES}", style="dim")
    console.print(sentence(evaluation), markup=False)


def _parts(lines: list[list[str]], width: int) -> Iterator[list[int]]:
    """The columns of each part of a table, as many as fit; the first is in all of them."""
    gap = 3
    widths = [max(map(len, column)) + gap for column in zip(*lines, strict=True)]
    columns, used = [0], widths[0]
    for i, wide in enumerate(widths[1:], 1):
        if used + wide > width and len(columns) > 1:
            yield columns
            columns, used = [0], widths[0]
        columns.append(i)
        used += wide
    yield columns


def markdown(evaluation: Evaluation) -> str:
    """The tables with every number, in Markdown."""
    parts = ["# Evaluation", "", sentence(evaluation), "", f"{legend(evaluation)} {TIMES}", ""]
    for dim in evaluation.dims:
        parts += [markdown_grid(*grid(evaluation, dim)), ""]
    parts += ["## Every number", ""]
    parts += [_table(*every_number(evaluation)), ""]
    parts += [f"- {note}" for note in evaluation.notes] + [""] * bool(evaluation.notes)
    parts += ["## How it was made", ""]
    parts += [f"- {key}: `{value}`" for key, value in evaluation.environment.items()]
    return "\n".join(parts) + "\n"


def every_number(evaluation: Evaluation) -> tuple[list[str], list[list[str]]]:
    """Header and body of the long table."""
    header = ["task", "method", "mean", "error", "median", "seeds", *EXTRA]
    methods = [*evaluation.methods]
    found = (s for task in evaluation.tasks for s in summarize(evaluation.rows, task.name, methods))
    return header, [_numbers(s) for s in found]


def _numbers(s: Summary) -> list[str]:
    values = [
        f"{s.mean:.4f}",
        f"{s.error:.4f}",
        f"{s.median:.4f}",
        str(s.seeds),
        _p(s.p_random),
        _p(s.p_gp_al),
    ]
    return [s.task, label(s.method), *values, f"{s.query_ms:.2f}", f"{s.compile_s:.2f}"]


def _p(p: float | None) -> str:
    return "" if p is None else f"{p:.2g}"


def markdown_grid(header: list[str], body: list[list[str]], bold: list[list[bool]]) -> str:
    """A table in Markdown, with its best cells in bold."""
    lines = (zip(*pair, strict=True) for pair in zip(body, bold, strict=True))
    return _table(header, [[f"**{text}**" if best else text for text, best in line] for line in lines])


def _table(header: list[str], body: list[list[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
