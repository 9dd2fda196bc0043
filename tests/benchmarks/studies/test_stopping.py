"""The study of stopping counts what stopped, and what stopped too early."""

from untrained import untrained

from benchmarks.studies import drawn, stopping
from benchmarks.studies.stopping import Stop


def test_too_early_is_what_was_reached_and_is_not_there():
    stops = [Stop(1, 9, True, 1.4), Stop(1, 9, True, 1.6), Stop(1, 60, False, 3.0), Stop(2, 30, True, 0.5)]
    assert [each.early for each in stops] == [False, True, False, False]
    lines = stopping.report(stops).splitlines()
    assert lines[2] == "| 1 | 3 | 2 | 1 | 9 |"
    assert lines[-1] == "| all | 4 | 3 | 1 | 19.5 |"


def test_a_run_ends_at_its_goal_or_with_its_points(monkeypatch):
    monkeypatch.setattr(stopping, "MOST", 3)
    task = drawn.draw("polynomials", 1, 1, 0)[0]
    monkeypatch.setattr(stopping, "GOALS", (1e-6, 1e-6))
    assert stopping.stop(untrained(), task)[:3] == (1, 3, False)
    monkeypatch.setattr(stopping, "GOALS", (1e6, 1e6))
    found = stopping.stop(untrained(), task)
    assert (found.points, found.reached, found.early) == (2, True, False)
