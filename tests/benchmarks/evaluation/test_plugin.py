"""Methods and tasks from a file of the user's own."""

import json
import sys

import pytest

import evaluate

MINE = """
import numpy as np
from benchmarks.evaluation.tasks import from_box

def bump():
    return from_box("bump", [(-2, 3)], lambda x: np.exp(-x[:, 0] ** 2), inputs=("volts",), output="heat")

def golden(history):
    return [(history.mask.sum() * 0.618) % 1]
"""
ARGUMENTS = ["--task", "mine_of_a_user:bump", "--method", "mine_of_a_user:golden", "--methods", "random"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "mine_of_a_user.py").write_text(MINE)

    def call():
        monkeypatch.delitem(sys.modules, "mine_of_a_user", raising=False)
        monkeypatch.setattr(
            sys, "argv", ["evaluate.py", *ARGUMENTS, "--seeds", "2", "--budget", "2", "--out", "out"]
        )
        evaluate.main()

    return call


def test_ones_own_method_and_task_are_in_every_table_and_figure(run, tmp_path, capsys):
    run()
    rows = [json.loads(line) for line in (tmp_path / "out/rows.jsonl").read_text().splitlines()]
    assert {(row["task"], row["method"]) for row in rows} == {("bump", "golden"), ("bump", "random")}
    found = [row for row in rows if row["method"] == "golden"]
    assert [x[0] for x in found[0]["x"][1:]] == pytest.approx([0.618, 0.236])
    figures = {path.name for path in (tmp_path / "out/figures").iterdir()}
    assert figures == {
        *("differences-bump.png", "figure2-bump.png", "curves-bump.png"),
        *("queries-bump-golden.png", "queries-bump-random.png"),
    }
    report = (tmp_path / "out/report.html").read_text()
    assert "1 task, golden" in report.split('class="verdict"')[1][:200]
    assert "volts" in report
    assert "| golden |" in (tmp_path / "out/tables.md").read_text()
    assert "golden" in capsys.readouterr().out


def test_a_changed_file_is_another_method(run, tmp_path):
    run()
    (tmp_path / "mine_of_a_user.py").write_text(MINE.replace("0.618", "0.6180"))
    rows = tmp_path / "out/rows.jsonl"
    before = rows.read_text("utf-8").count('"golden"')
    run()
    assert rows.read_text("utf-8").count('"golden"') == 2 * before  # run again; the old rows stay
