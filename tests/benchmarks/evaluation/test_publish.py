"""The tables of documents, from made-up rows."""

import dataclasses
import re

import numpy as np
import pytest

from benchmarks.evaluation import publish, tasks
from benchmarks.evaluation.registry import LABELS, label
from benchmarks.evaluation.tables import Evaluation, points

METHODS = dict.fromkeys(LABELS, 1)


def made_up(names):
    rows = [
        {"task": task, "method": method, "seed": seed, "rmse": [1.0, 0.1 * (m + 1) + 0.01 * seed]}
        | {"x": [[0.5]] * 2, "query_seconds": [0.001], "compile_seconds": 0.0}
        | {"environment": {"commit": f"c{seed}", "device": "an abacus"}}
        for task in names
        for m, method in enumerate(METHODS)
        for seed in (0, 1)
    ]
    found = [tasks.TASKS[name](None) for name in names]
    return Evaluation(found, METHODS, rows, 2, ["Not run: lgbb."], {"commit": "later"}, {})


def test_only_what_is_between_the_marks_of_that_name_changes():
    text = "a\n<!-- begin: one -->\nold\n<!-- end -->\nb\n<!-- begin: two -->\nkept\n<!-- end -->\nc\n"
    once = publish.between(text, "one", "new\nlines")
    assert once == text.replace("old", "new\nlines")
    assert publish.between(once, "one", "old") == text
    for broken in (text.replace("one", "none"), text.replace("<!-- end -->", "", 1)):
        with pytest.raises(ValueError, match="must have the lines <!-- begin: one --> and <!-- end -->"):
            publish.between(broken, "one", "new")


def test_the_short_table_has_at_most_eight_rows_and_a_column_for_each_task():
    names = ["sin", "airline", "branin", "simionescu", "townsend"]
    text = publish.short(made_up(names))
    header, _, *body = [line for line in text.splitlines() if line.startswith("|")]
    assert [cell.strip() for cell in header.split("|")[2:-1]] == names
    assert [line.split("|")[1].strip() for line in body] == [label(m) for m in publish.SHORT]
    assert len(body) <= 8
    assert all("**" in cell for cell in body[0].split("|")[2:-1]), "alx is the best everywhere"
    assert text.count("**") == 2 * len(names)
    assert "8 given" not in text.splitlines()[-1], "only what is shown is explained"
    assert text.startswith("Against the best rival of each of 5 tasks, alx")


def test_the_caption_says_how_many_points_there_were():
    evaluation = made_up(["sin", "branin"])
    assert points(evaluation) == (
        "Each method had 2 points (D = 1, 2) in all, of which some were given at random: 1."
    )
    for row in evaluation.rows:
        if row["task"] == "branin":
            row["x"] = [[0.5]] * 3
    given = dataclasses.replace(evaluation, methods={"alx": 1, "learner": 0, "learner-8": 8, "random": 1})
    assert points(given) == (
        "Each method had 2 points (D = 1) and 3 points (D = 2) in all, of which some were given at random: "
        "0 for 'alx.Learner', 8 for 'alx.Learner, 8 given', 1 for all others."
    )


def test_the_full_tables_hold_every_method_and_say_where_rows_come_from():
    evaluation = made_up(["sin", "branin"])
    text = publish.full(evaluation)
    for dim in (1, 2):
        table = text[text.index(f"| D = {dim} |") :].split("\n\n")[0]
        assert [line.split("|")[1].strip() for line in table.splitlines()[2:]] == list(LABELS.values())
    finals = [r["rmse"][-1] for r in evaluation.rows if (r["task"], r["method"]) == ("sin", "sobol")]
    assert re.search(rf"\| Sobol \| {np.mean(finals):.3f} ±0.005 ", text)
    assert "Measured at commit c0, c1 on an abacus." in text
    assert text.endswith("Not run: lgbb.")


def test_the_documents_have_a_mark_for_every_suite_that_is_published():
    results = (publish.ROOT / "docs" / "results.md").read_text("utf-8")
    for suite in ("all", "real", "uq"):
        publish.between(results, f"evaluate.py --suite {suite}", "")
    publish.between((publish.ROOT / "README.md").read_text("utf-8"), "evaluate.py --suite all", "")
