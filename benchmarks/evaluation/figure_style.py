"""How figures look: sizes that can be read on a phone, colours for everyone, and ink that follows the page.

Figures are saved twice: as PNG files, and as SVG for the page, where whatever is drawn in ``INK`` takes the
colour of the page's text, so that one drawing serves light and dark screens.
"""

import io
import re
from typing import Any

from matplotlib.figure import Figure

__all__ = ["COLOURS", "GREY", "INK", "SETTINGS", "WIDTH", "style", "svg"]

WIDTH = 4.2  # inches, about the width of a phone: letters are as large there as they are drawn
INK, GREY = "#010203", "#808080"
PAGE_INK = "currentColor"

# Okabe and Ito's palette, then Tol's muted one: both are told apart by people who are colour-blind, and all
# of these show on white and on black.
COLOURS = {
    "alx": "#D55E00",
    "learner": "#E69F00",
    "learner-8": "#B8860B",
    "blind": "#888888",
    "gp-al-bayes": "#56B4E9",
    "gp-al": "#0072B2",
    "gp-al-variance": "#44AA99",
    "botorch": "#999933",
    "adaptive": "#AA4499",
    "maximin": "#CC79A7",
    "sobol": "#009E73",
    "random": INK,
    "paper-regularized-entropy": "#B03A6B",
    "paper-entropy": "#AA4499",
    "paper-myopic": "#999933",
    "paper-dad": "#7B6FD0",
}
OTHERS = ("#CC6677", "#A0522D", "#6699CC", "#3C9A50")
MARKERS = "osD^vP*X<>hp"
SETTINGS: Any = {
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GREY,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "alx",  # the same figure is the same file
}


def style(method: str, methods: list[str]) -> dict[str, Any]:
    """Colour, marker and dash of a method: the same in every figure."""
    own = [m for m in methods if m not in COLOURS]
    colour = COLOURS[method] if method in COLOURS else OTHERS[own.index(method) % len(OTHERS)]
    known = [*COLOURS, *own]
    dash = "--" if method.startswith("paper-") else "-." if method in own else "-"
    return {"color": colour, "marker": MARKERS[known.index(method) % len(MARKERS)], "linestyle": dash}


def svg(figure: Figure) -> str:
    """The figure as an SVG element without a background, in the ink of the page."""
    content = io.StringIO()
    figure.savefig(content, format="svg", transparent=True, metadata={"Date": None})
    text = content.getvalue()
    text = text[text.index("<svg") :].replace(INK, PAGE_INK)
    # Fonts by family name: the page's own, so that nothing depends on what is installed.
    return re.sub(r"'DejaVu Sans'(, [^;\"]*)?", "system-ui, sans-serif", text)
