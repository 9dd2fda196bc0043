"""Random closed forms: how methods are compared on them, and what is refused."""

import sys

import numpy as np
import pytest

from benchmarks.evaluation import tasks
from benchmarks.evaluation.final import final_rmse
from benchmarks.evaluation.methods import baselines
from benchmarks.evaluation.protocol import run
from benchmarks.studies import closed_forms


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
