"""One self-contained page: verdict, tables and figures, nothing fetched, light and dark, for any width."""

import html
import re
from pathlib import Path

from benchmarks.evaluation.figures import CURVES, DIFFERENCES, FIGURE2, LOOK, TRAINING, Picture
from benchmarks.evaluation.tables import TIMES, Evaluation, every_number, grid, legend, sentence

__all__ = ["page"]

PROTOCOL = """For each seed all methods have the same number of points, start from the same labelled one, meet
the same noise and are judged on the same test points. The same Gaussian process (ARD RBF; variance,
lengthscales and noise by type-II maximum likelihood from 32 starts) is fitted to the points of
every method, and its RMSE taken against noise-free values, in standard deviations of the task. The
seeds of a method run together; its query times are then measured on the same data, one experiment
at a time, compiled, on the machine below, and for GP AL they include the fit. The best rival of a
task is picked afterwards, which favours the rival."""
# The page says itself that it fetches nothing.
CONTENT_SECURITY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
FILES = {"rows.csv": "a line for each point", "rows.jsonl": "a line for each run", "tables.md": "the tables"}


def page(evaluation: Evaluation, pictures: list[Picture]) -> str:
    """The whole report as HTML."""
    here = Path(__file__).parent
    style, script = ((here / name).read_text("utf-8") for name in ("page.css", "page.js"))
    body = [
        "<h1>Active learning: evaluation</h1>",
        f'<p class="verdict">{_text(sentence(evaluation))}</p>',
        *(_table("grid", *grid(evaluation, dim)) for dim in evaluation.dims),
        f'<p class="quiet">{_text(f"{legend(evaluation)} {TIMES}")}</p>',
        _notes(evaluation.notes),
        f"<p>The data behind this page: {_files()}.</p>",
        _section(DIFFERENCES, pictures),
        _details(CURVES, pictures),
        _details(FIGURE2, pictures),
        _section(LOOK, pictures),
        _section(TRAINING, pictures),
        f"<details><summary>Every number</summary>{_table('words', *every_number(evaluation))}</details>",
        "<h2>How it was made</h2>",
        f"<p>{_text(PROTOCOL)}</p>",
        "<p>The command that makes every table and figure of this page again:</p>",
        f"<pre>{_text(evaluation.environment['command'])}</pre>",
        _environment(evaluation.environment),
        f"<script>{script}</script>",
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY}">'
        f'<link rel="icon" href="data:,"><title>Active learning: evaluation</title><style>{style}</style>'
    )
    content = "\n".join(body)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{content}\n</body></html>\n'


def _text(text: object) -> str:
    return html.escape(str(text))


def _table(kind: str, header: list[str], body: list[list[str]], bold: list[list[bool]] | None = None) -> str:
    head = "".join(f'<th scope="col"><button>{_text(name)}</button></th>' for name in header)
    bold = bold or [[False] * len(header)] * len(body)
    lines = (
        "".join(f'<td data-value="{_key(c)}">{_cell(c, b)}</td>' for c, b in zip(line, marks, strict=True))
        for line, marks in zip(body, bold, strict=True)
    )
    rows = "\n".join(f"<tr>{line}</tr>" for line in lines)
    table = f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table>'
    return f'<div class="table">{table}</div>'


def _key(text: str) -> str:
    """What a cell is sorted by: its number if it begins with one."""
    number = re.match(r"[\d.]+(e[-+]\d+)?(?= ±|$)", text)
    return number[0] if number else _text(text)


def _cell(text: str, best: bool) -> str:
    """mean±error with its marks; the error in small print, below the mean on a narrow screen."""
    mean, _, rest = text.partition(" ±")
    error = rest.rstrip("*†")
    value = _text(mean + rest[len(error) :])
    return ("<b>" * best) + value + ("</b>" * best) + (f" <small>±{_text(error)}</small>" if error else "")


def _notes(notes: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{_text(note)}</li>' for note in notes)}</ul>" if notes else ""


def _files() -> str:
    return ", ".join(f'<a href="{name}">{name}</a> ({what})' for name, what in FILES.items())


def _section(name: str, pictures: list[Picture]) -> str:
    figures = _figures(name, pictures)
    return f"<h2>{_text(name)}</h2>\n{figures}" if figures else ""


def _details(name: str, pictures: list[Picture]) -> str:
    figures = _figures(name, pictures)
    return f"<details><summary>{_text(name)}</summary>{figures}</details>" if figures else ""


def _figures(section: str, pictures: list[Picture]) -> str:
    found = "".join(_figure(picture) for picture in pictures if picture.section == section)
    return f'<div class="figures">{found}</div>' if found else ""


def _figure(picture: Picture) -> str:
    caption = _text(picture.caption)
    image = picture.svg.replace("<svg", f'<svg role="img" aria-label="{caption}"', 1)
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>\n"


def _environment(environment: dict) -> str:
    items = "".join(f"<dt>{_text(key)}</dt><dd>{_text(value)}</dd>" for key, value in environment.items())
    return f"<dl>{items}</dl>"
