"""The output directory of an evaluation: tables, rows, figures and one self-contained page."""

from pathlib import Path

from alx.io.files import write_bytes
from benchmarks.evaluation import figures, html, rows
from benchmarks.evaluation.tables import Evaluation, markdown

__all__ = ["write"]


def write(evaluation: Evaluation, out: Path) -> Path:
    """Write everything into ``out``; the path of the page."""
    write_bytes(out / "tables.md", markdown(evaluation).encode())
    rows.write_csv(out / "rows.csv", evaluation.rows)
    pictures = figures.draw(evaluation, out / "figures")
    path = out / "report.html"
    write_bytes(path, html.page(evaluation, pictures).encode())
    return path
