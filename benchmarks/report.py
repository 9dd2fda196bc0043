"""The output directory of an evaluation: tables, rows, figures and one self-contained page."""

from pathlib import Path

from benchmarks import figures, html, rows
from benchmarks.tables import Evaluation, markdown

__all__ = ["write"]


def write(evaluation: Evaluation, out: Path) -> Path:
    """Write everything into ``out``; the path of the page."""
    (out / "tables.md").write_text(markdown(evaluation), "utf-8")
    rows.write_csv(out / "rows.csv", evaluation.rows)
    pictures = figures.draw(evaluation, out / "figures")
    path = out / "report.html"
    path.write_text(html.page(evaluation, pictures), "utf-8")
    return path
