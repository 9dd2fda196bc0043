"""Pictures can be drawn without a screen for every kind of domain, and they show the points."""

import numpy as np
import pytest
from untrained import untrained

import alx


def learner(**kwargs) -> alx.Learner:
    return alx.Learner(untrained(), **({"budget": 8} | kwargs))


def texts(figure) -> set[str]:
    return {text.get_text() for text in figure.findobj(lambda each: hasattr(each, "get_text"))}


def test_one_input():
    one = learner(inputs=[alx.Real("speed", 0, 10, "rpm")], outputs=[alx.Output("nox", "ppm")])
    with pytest.raises(ValueError, match="a picture needs at least two different outputs"):
        one.plot()
    one.tell([1, 5, 9, 3], [1.0, 2.0, 0.0, np.nan])
    figure = one.plot()
    assert {"failed"} <= texts(figure)
    assert {"speed [rpm]", "nox [ppm]", "1", "2", "3", "mean", "90 % interval", "next"} <= texts(figure)
    assert len(one.pending) == 0  # looking ahead is not asking


def test_two_inputs_side_by_side_with_a_constraint(tmp_path):
    one = learner(bounds=[(0, 10), (0, 5)], constraint=lambda x: x.sum(1) < 12)
    one.tell([[1, 1], [5, 2], [9, 1]], [1.0, 2.0, np.nan])
    figure = one.plot()
    assert {"mean", "standard deviation", "failed", "next"} <= texts(figure)
    mean = figure.axes[0].collections[0].get_array()
    assert (
        0 < np.ma.getmaskarray(np.ma.masked_invalid(mean)).mean() < 0.3
    )  # what is not allowed is left blank
    figure.savefig(tmp_path / "two.png")


def test_more_inputs_and_choices_show_effects_and_the_error(tmp_path):
    inputs = [alx.Real("torque", 0, 300), alx.Integer("gear", 1, 6), alx.Choice("fuel", ["a", "b"])]
    one = learner(inputs=inputs, outputs=["nox", "co"])
    rng = np.random.default_rng(0)
    for gear in (1, 3, 6):
        for fuel in ("a", "b"):
            one.tell([rng.uniform(0, 300), gear, fuel], [gear, 100.0 * (fuel == "a") + rng.normal()])
    figure = one.plot()
    assert {"torque", "gear", "fuel", "a", "b", "points", "estimated error of co"} <= texts(figure)
    assert len(figure.axes) == 8
    # The fuel decides over co and nothing else does.
    torque, gear, fuel = (axes.lines[0].get_ydata() for axes in figure.axes[4:7])
    assert np.ptp(fuel) > 3 * max(np.ptp(torque), np.ptp(gear))
    figure.savefig(tmp_path / "three.png")
