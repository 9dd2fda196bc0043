"""One self-contained page: tables and figures inside, nothing fetched, readable on a phone."""

import base64
import html
import struct

from benchmarks.evaluation.figures import Picture
from benchmarks.evaluation.tables import Evaluation, grid, legend

__all__ = ["page"]

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 72rem; padding: 1rem;
  font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; overflow-wrap: anywhere;
}
h1 { font-size: 1.5rem; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; border-bottom: 1px solid #ccc; }
p, li { max-width: 44rem; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #e4e4e4; }
th { overflow-wrap: normal; }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: break-word; }
small { color: #555; }
@media (max-width: 40rem) {
  table { font-size: .72rem; line-height: 1.3; }
  th, td { padding: .25rem .2rem; }
  th { font-size: .65rem; }
  td small { display: block; }
}
.figures {
  display: grid; gap: 1.2rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr));
}
figure { margin: 0; }
img { width: 100%; height: auto; display: block; }
figcaption { font-size: .85rem; color: #444; margin-top: .3rem; }
pre { white-space: pre-wrap; background: #f4f4f4; padding: .6rem; font-size: .85rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem .8rem; font-size: .85rem; }
dd { margin: 0; }
"""

PROTOCOL = """For each seed all methods start from the same labelled point, meet the same noise and are
judged on the same test points. After every query the same Gaussian process (ARD RBF; variance, lengthscales
and noise by type-II maximum likelihood from 32 starts) is refitted for every method, and its RMSE taken
against noise-free values. The seeds of a method run together; its query times are then measured on the same
data, one experiment at a time, compiled, on the machine below, and for GP AL they include the fit."""


def page(evaluation: Evaluation, pictures: list[Picture]) -> str:
    """The whole report as HTML."""
    sections = list(dict.fromkeys(picture.section for picture in pictures))
    body = [
        "<h1>Amortized active learning: evaluation</h1>",
        f"<p>{_text(legend(evaluation))}</p>",
        *(_table(*grid(evaluation, dim)) for dim in evaluation.dims),
        _notes(evaluation.notes),
        *(_section(name, [p for p in pictures if p.section == name]) for name in sections),
        "<h2>How it was made</h2>",
        f"<p>{_text(PROTOCOL)}</p>",
        "<p>The command that makes every table and figure of this page again:</p>",
        f"<pre>{_text(evaluation.environment['command'])}</pre>",
        _environment(evaluation.environment),
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>alx evaluation</title><style>{STYLE}</style>'
    )
    content = "\n".join(body)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{content}\n</body></html>\n'


def _text(text: object) -> str:
    return html.escape(str(text))


def _table(header: list[str], body: list[list[str]], bold: list[list[bool]]) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in header)
    lines = (
        "".join(f"<td>{_cell(c, b)}</td>" for c, b in zip(line, marks, strict=True))
        for line, marks in zip(body, bold, strict=True)
    )
    rows = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>'


def _cell(text: str, best: bool) -> str:
    """mean±error with its marks; the error in small print, below the mean on a narrow screen."""
    mean, _, rest = text.partition(" ±")
    error = rest.rstrip("*†")
    value = _text(mean + rest[len(error) :])
    return ("<b>" * best) + value + ("</b>" * best) + (f" <small>±{_text(error)}</small>" if error else "")


def _notes(notes: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{_text(note)}</li>' for note in notes)}</ul>" if notes else ""


def _section(name: str, pictures: list[Picture]) -> str:
    return f'<h2>{_text(name)}</h2>\n<div class="figures">{"".join(map(_figure, pictures))}</div>'


def _figure(picture: Picture) -> str:
    content = picture.path.read_bytes()
    width, height = struct.unpack(
        ">II", content[16:24]
    )  # the PNG header; keeps the layout still while loading
    data = base64.b64encode(content).decode()
    size = f'width="{width}" height="{height}"'
    image = f'<img {size} alt="{_text(picture.caption)}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{_text(picture.caption)}</figcaption></figure>\n"


def _environment(environment: dict) -> str:
    items = "".join(f"<dt>{_text(key)}</dt><dd>{_text(value)}</dd>" for key, value in environment.items())
    return f"<dl>{items}</dl>"
