"""Tasks from other packages: those on disk are made up here; the real ones where they are installed."""

import importlib.util

import numpy as np
import pytest

from benchmarks.evaluation import measured, runner, suites, uq
from benchmarks.evaluation.data import Unavailable


def test_a_suite_is_its_tasks_and_names_may_be_mixed():
    assert suites.names("paper-1d,branin,sin") == ["sin", "airline", "branin"]
    assert len(suites.names("all")) == 6
    assert all(name in suites.TASKS for suite in suites.SUITES.values() for name in suite)
    with pytest.raises(ValueError, match="--suite has foo, which is no task; known are all, paper-1d"):
        suites.names("sin,foo")


@pytest.mark.parametrize("name", ["b777-fuel", "colours-bob", "truss", "Ishigami"])
def test_what_is_not_installed_is_said_in_a_sentence(name, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    maker = (measured.TASKS | uq.TASKS)[name].__wrapped__
    with pytest.raises(Unavailable, match=rf"^{name}: .* pip install [a-z -]+\.$"):
        maker()


def test_tasks_of_a_package_that_is_missing_share_a_sentence(monkeypatch):
    missing = {name: measured.TASKS[name].__wrapped__ for name in ("b777-fuel", "b777-thrust", "truss")}
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    for name, make in missing.items():
        monkeypatch.setitem(suites.TASKS, name, lambda _, make=make: make())
    found, notes = runner.load_tasks("sin,b777-fuel,b777-thrust,truss")
    assert [task.name for task in found] == ["sin"]
    assert notes == [
        "Not run: b777-fuel, b777-thrust: not without the package smt; pip install smt.",
        "Not run: truss: not without the package autoemulate; pip install --no-deps autoemulate.",
    ]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package of which only one file exists, with the given text."""

    def put(file, text):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        monkeypatch.setattr(measured, "folder", lambda *_: tmp_path)

    return put


def test_an_engine_map_is_read_as_a_pool(installed):
    grid = [f"{m} {h} {t}" for m in (0, 0.9) for h in (0, 13) for t in (0.1, 1)]
    installed("examples/b777_engine/b777_engine_inputs.dat", "\n".join(grid))
    installed(
        "examples/b777_engine/b777_engine_outputs.dat", "\n".join(f"{i} {10 - i * i}" for i in range(8))
    )
    task = measured.TASKS["b777-fuel"].__wrapped__()
    assert (task.dim, task.is_pool, len(task.test_x)) == (3, True, 8)
    np.testing.assert_allclose(task.units.y(task.test_y), [10 - i * i for i in range(8)])
    assert task.units.high == (0.9, 13, 1)


def test_parts_that_add_up_to_one_leave_out_the_last(installed):
    installed("datasets/dataset_photo_wf3/data.csv", "1,0,0,0,5\n0,1,0,0,6\n0,0,1,0,7\n0,0,0,1,9\n")
    task = measured.TASKS["photo-wf3"].__wrapped__()
    assert task.dim == 3
    np.testing.assert_allclose(task.units.y(task.test_y), [5, 6, 7, 9])


def test_a_column_is_found_by_its_name(installed):
    installed("datasets/engineering1/processed/parameters.csv", '"a,b",c\n1,2\n3,4\n5,9\n')
    installed("datasets/engineering1/processed/outputs.csv", "weight,deflection\n1,7\n2,8\n3,10\n")
    task = measured.TASKS["truss"].__wrapped__()
    assert task.units.names == ("a,b", "c")
    np.testing.assert_allclose(task.units.y(task.test_y), [7, 8, 10])


@pytest.mark.parametrize("text", ["1,2,3,x\n", "1,2,3,nan\n", "1,2,3,4\n1,2\n"])
def test_a_file_that_holds_something_else_is_said(installed, text):
    installed("datasets/dataset_colors_n9/data.csv", text)
    with pytest.raises(Unavailable, match=r"colours-n9: data\.csv of the installed package"):
        measured.TASKS["colours-n9"].__wrapped__()


@pytest.mark.parametrize("name", [*measured.TASKS, *uq.TASKS])
def test_every_task_can_be_had_where_its_package_is(name):
    try:
        task = suites.TASKS[name](None)
    except Unavailable as reason:
        pytest.skip(str(reason))
    assert 1 <= task.dim <= 6
    assert np.isfinite(task.test_y).all()
    assert task.test_y.std() == pytest.approx(1, abs=0.1)
    assert (task.test_x.min(), task.test_x.max()) == (pytest.approx(0, abs=0.01), pytest.approx(1, abs=0.01))


def test_ishigami_is_the_published_function():
    pytest.importorskip("uqtestfuns")
    task = uq.TASKS["Ishigami"]()
    x = np.pi * (2 * task.test_x - 1)
    expected = np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])
    np.testing.assert_allclose(task.units.y(task.test_y), expected, atol=1e-9)
