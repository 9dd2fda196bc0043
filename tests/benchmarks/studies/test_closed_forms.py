"""Random closed forms: what they are, how methods are compared on them, and what is refused."""

import sys

import numpy as np
import pytest

from benchmarks.evaluation import tasks
from benchmarks.evaluation.final import final_rmse
from benchmarks.evaluation.methods import baselines
from benchmarks.evaluation.protocol import run
from benchmarks.studies import closed_forms


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_polynomials_have_degree_four(dim):
    """Along any line the fifth difference is zero and the fourth a constant that is not."""
    random = np.random.default_rng(dim)
    truth = closed_forms.polynomial(random, dim)
    line = random.random(dim) + np.linspace(0, 1, 12)[:, None] * random.standard_normal(dim)
    scale = np.abs(truth(line)).max()
    np.testing.assert_allclose(np.diff(truth(line), 5), 0, atol=1e-11 * scale)
    assert np.abs(np.diff(truth(line), 4)).min() > 1e-8 * scale


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_compositions_are_sums_of_products_of_shapes(dim, monkeypatch):
    """With all shapes the identity, a product of two linear terms: its third difference is zero."""
    linear = (lambda z: z,) * len(closed_forms.SHAPES)
    monkeypatch.setattr(closed_forms, "SHAPES", linear)
    truth = closed_forms.composition(np.random.default_rng(dim), dim)
    line = np.linspace(0, 1, 9)[:, None] * np.ones(dim)
    np.testing.assert_allclose(np.diff(truth(line), 3), 0, atol=1e-10)
    assert np.abs(np.diff(truth(line), 2)).min() > 1e-6


@pytest.mark.parametrize("family", closed_forms.FAMILIES)
def test_functions_are_standardised_and_reproducible(family):
    drawn, again, other = (closed_forms.draw(family, 2, 3, seed) for seed in (4, 4, 5))
    for task, twin, stranger in zip(drawn, again, other, strict=True):
        assert task.fingerprint == twin.fingerprint != stranger.fingerprint
        assert abs(task.test_y.mean()) < 0.02
        assert task.test_y.std() == pytest.approx(1, abs=0.02)
    assert len({task.fingerprint for task in drawn}) == len({task.name for task in drawn}) == 3


def test_a_function_that_hardly_varies_is_drawn_again(monkeypatch):
    truths = iter([lambda x: np.ones(len(x)), lambda x: x[:, 0], lambda x: -x[:, 0]])
    monkeypatch.setitem(closed_forms.FAMILIES, "some", lambda random, dim: next(truths))
    rising, falling = closed_forms.draw("some", 1, 2, 0)
    np.testing.assert_array_equal(np.argsort(rising.test_y), np.argsort(-falling.test_y))


def test_the_score_is_that_of_whole_runs():
    """The final RMSE is the end of the curve that `evaluate.py` reports."""
    task, method = tasks.TASKS["branin"](None), baselines()["sobol"]
    final = final_rmse(task, method, 6, 4)
    rows = [*run(task, method, range(5), 4), *run(task, method, [5], 4)]
    np.testing.assert_allclose(final, [row["rmse"][-1] for row in rows], rtol=1e-9)
    expected = np.log(final[:5]).mean()
    assert closed_forms.log_rmse([task], method, 4) == pytest.approx([expected])


def test_the_table_compares_with_sobol_and_with_the_first_policy():
    own = np.arange(10) / 10
    columns = {"some": {"own": own, "sobol": own + np.linspace(0.1, 0.3, 10)}}
    _, _, first, second = closed_forms.table(columns, "own").splitlines()
    assert first == "| own | -0.200 ± 0.021 |  |"
    assert second == "| sobol | +0.000 ± 0.000 | 0.001 |"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dim1-T10", "dim2-T20"], "policies must share dim and T, got 2 kinds"),
        (["--functions", "9"], "--functions must be at least 10 for a test, got 9"),
        (["nothing"], "nothing"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["closed_forms", *arguments])
    assert closed_forms.main() == 2
    assert message in capsys.readouterr().err
