"""Evaluate, then write the tables into the documents: python -m benchmarks.evaluation.publish --suite all ...

It takes the options of evaluate.py. What lies in --out already is not run again, so that after an evaluation
it only writes. A table goes between ``<!-- begin: evaluate.py --suite NAME -->`` and ``<!-- end -->``: into
docs/results.md in full, and a short one into README.md if it has such a mark.
"""

import dataclasses
import sys
from pathlib import Path

import tyro
from rich.console import Console

from alx.io.files import write_bytes
from benchmarks.evaluation.cli import Options, evaluate
from benchmarks.evaluation.tables import Evaluation, cells, legend, markdown_grid, points, sentence

__all__ = ["between", "full", "short"]

ROOT = Path(__file__).parents[2]
SHORT = (
    *("alx", "learner", "gp-al-bayes", "paper-regularized-entropy"),
    *("gp-al", "gp-al-variance", "maximin", "random"),
)


def between(text: str, name: str, content: str) -> str:
    """The text with the content between the marks of this name."""
    begin, end = f"<!-- begin: {name} -->\n", "<!-- end -->"
    before, mark, rest = text.partition(begin)
    old, closing, after = rest.partition(end)
    if not (mark and closing) or "<!-- begin" in old:
        raise ValueError(f"the document must have the lines {begin.strip()} and {end} for this table.")
    return f"{before}{mark}{content}\n{closing}{after}"


def full(evaluation: Evaluation) -> str:
    """Verdict, all tables, what they are and where they come from.

    Times are left out, for rows may come from several runs, on machines that were not equally busy.
    """
    by_dim = {d: [task.name for task in evaluation.tasks if task.dim == d] for d in evaluation.dims}
    grids = [
        markdown_grid([f"D = {dim}", *tasks], *cells(evaluation, tasks, [*evaluation.methods]))
        for dim, tasks in by_dim.items()
    ]
    return "\n\n".join(
        [sentence(evaluation), *grids, f"{legend(evaluation)} {origin(evaluation)}", *evaluation.notes]
    )


def short(evaluation: Evaluation) -> str:
    """Verdict and one table: eight methods at most, and all tasks."""
    tasks = [task.name for task in evaluation.tasks]
    shown = {name: given for name, given in evaluation.methods.items() if name in SHORT}
    table = markdown_grid(["RMSE", *tasks], *cells(evaluation, tasks, [*shown]))
    caption = points(dataclasses.replace(evaluation, methods=shown))
    return "\n\n".join([sentence(evaluation), table, caption])


def origin(evaluation: Evaluation) -> str:
    """The commits and machines of the rows, which may come from several runs."""
    made = {
        key: sorted({row.get("environment", {}).get(key, "unknown") for row in evaluation.rows})
        for key in ("commit", "device")
    }
    return f"Measured at commit {', '.join(made['commit'])} on {'; '.join(made['device'])}."


def main() -> None:
    """Bad input ends in one sentence and exit code 2."""
    options = tyro.cli(Options, prog="python -m benchmarks.evaluation.publish")
    name = f"evaluate.py --suite {options.suite}"
    try:
        results, readme = ROOT / "docs" / "results.md", ROOT / "README.md"
        between(results.read_text("utf-8"), name, "")  # before any work
        evaluation = evaluate(options, Console())
        write_bytes(results, between(results.read_text("utf-8"), name, full(evaluation)).encode())
        if name in readme.read_text("utf-8"):
            write_bytes(readme, between(readme.read_text("utf-8"), name, short(evaluation)).encode())
    except (ValueError, OSError) as error:
        print(f"publish: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
