"""The study of coverage: the truth is what it says, everybody meets the same points, tables count."""

import numpy as np
import pytest
from untrained import untrained

import alx
from benchmarks.studies import coverage, coverage_cells, coverage_fits, coverage_report, drawn
from benchmarks.studies.coverage_cells import DESIGNS, Design


@pytest.fixture
def small(monkeypatch):
    """Two sizes that one compilation serves."""
    for module in (coverage_cells, coverage, coverage_report):
        monkeypatch.setattr(module, "SIZES", (4, 6))


def test_simulated_functions_are_standardised_and_more_begin_with_the_same():
    few, more = drawn.draw("simulated", 1, 2, 0), drawn.draw("simulated", 1, 3, 0)
    for a, b in zip(few, more, strict=False):
        np.testing.assert_array_equal(a.test_y, b.test_y)
    assert not np.allclose(more[0].test_y, more[2].test_y)
    for task in more:
        assert task.test_y.mean() == pytest.approx(0, abs=0.02)
        assert task.test_y.std() == pytest.approx(1, abs=0.02)
        np.testing.assert_allclose(task.truth(task.test_x[5:7]), task.test_y[5:7], atol=1e-6)


def test_the_papers_functions_are_a_family_with_other_points_each_time():
    drawn_tasks = drawn.draw("paper", 2, 4, 0)
    assert [task.name.split("-")[0] for task in drawn_tasks] == ["branin", "simionescu", "townsend", "branin"]
    first, again = (coverage_cells.points(drawn_tasks[i], DESIGNS["uniform"])[0] for i in (0, 3))
    assert not np.allclose(first, again)
    asked = coverage.Arguments(families=("bumps", "paper"), designs=("uniform",), dims=(1, 3))
    assert [(unit.family, unit.dim) for unit in coverage.units(asked)] == [
        ("bumps", 1),
        ("paper", 1),
        ("bumps", 3),
    ]


def test_what_a_learner_said_is_held_against_the_function(small):
    """The same as by hand, for uniform points; and the policy's points are other ones."""
    task = drawn.draw("bumps", 1, 1, 0)[0]
    x, noise = coverage_cells.points(task, DESIGNS["uniform"])
    learner = alx.Learner(untrained(), [(0, 1)])
    learner.tell(x[:4], task.truth(x[:4]) + noise[:4])
    at, truth = task.test_x[: coverage_cells.PLACES], task.test_y[: coverage_cells.PLACES]
    first, second = coverage_cells.said(untrained(), task, DESIGNS["uniform"])
    mean, _ = learner.predict(at)
    assert first.log_rmse == pytest.approx(0.5 * np.log(np.mean((mean - truth) ** 2)))
    assert first.log_estimate == pytest.approx(np.log(learner.error().rmse))
    low, high = learner.interval(at, 0.9)
    assert first.covered[coverage_cells.LEVELS.index(0.9)] == np.mean((low <= truth) & (truth <= high))
    assert (first.points, second.points) == (4, 6)
    assert coverage_cells.said(untrained(), task, DESIGNS["policy"])[0].log_rmse != first.log_rmse


def test_a_fit_finds_a_smooth_function_without_noise():
    task = drawn.draw("polynomials", 1, 1, 0)[0]
    for fit in coverage_fits.FITS.values():
        assert fit([task], Design(True, 0.0), 20)[0] < np.log(0.02)


def rows(covered: float, off: float) -> list[dict[str, float]]:
    said = {"alx": -1.0, "says": -1.0 + off, "fit": -0.9, "scikit-learn": np.nan}
    levels = {str(level): covered for level in coverage_cells.LEVELS}
    return [{"function": i, "points": n, **said, **levels} for i in range(3) for n in coverage_cells.SIZES]


def test_the_report_counts_cells_and_functions():
    found = [
        (coverage.Unit("bumps", 1, "uniform", 3), rows(0.9, 0.0)),
        (coverage.Unit("bumps", 1, "policy", 3), rows(0.8, 0.5)),
    ]
    text = coverage_report.report(found)
    assert "all: 50.0 % of 6 cells between 85 and 95 %, 50.0 % between 82 and 97 %" in text
    assert "from 80.0 to 90.0 %, on average 85.0 %" in text
    assert "Over all 6 cells: 50.0 %" in text
    assert "| bumps | 1 | 100 | 100 | 100 | 0 | 0 | 0 |" in text
    assert "| uniform | 1 | -0.100 ± 0.000 |" in text
    figure = coverage_report.picture(found)
    assert [axes.get_title() for axes in figure.axes] == ["points: uniform", "points: policy"]
    np.testing.assert_allclose(figure.axes[0].lines[1].get_ydata(), 0.9)


def test_rows_are_made_once(tmp_path):
    made = []

    def make():
        made.append(1)
        return [{"function": 0, "alx": 0.123456789}]

    for _ in range(2):
        assert coverage.collect(tmp_path / "a" / "rows.csv", make) == [{"function": 0, "alx": 0.123457}]
    assert len(made) == 1


def test_a_wrong_argument_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["coverage", "--families", "humps"])
    assert coverage.main() == 2
    assert "--families must be some of simulated," in capsys.readouterr().err
