import importlib.util

import numpy as np
import pytest
from test_rows import a_row

from benchmarks import evaluation
from benchmarks.evaluation import rows


def test_results_come_back_as_a_table(tmp_path, monkeypatch):
    short = a_row(
        1, method="mine", x=[[0.1], [0.2], [0.3]], y=[1.0, 2.0, 3.0], judged=[1, 3], query_seconds=[]
    )
    rows.append(tmp_path / "rows.jsonl", [a_row(0), short])
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    found = evaluation.load(tmp_path)
    assert isinstance(found, dict)
    assert found["method"].tolist() == ["random", "mine"]
    np.testing.assert_array_equal(found["seed"], [0, 1])
    np.testing.assert_array_equal(found["rmse"], [0.5, 0.5])
    np.testing.assert_allclose(found["query_seconds"], [0.1, np.nan])
    assert [x.shape for x in found["x"]] == [(2, 1), (3, 1)]
    assert [counts.tolist() for counts in found["judged"]] == [[1, 2], [1, 3]]


def test_of_an_experiment_made_again_the_last_counts(tmp_path, monkeypatch):
    old, new = a_row(0, fingerprint="old"), a_row(0, fingerprint="new", rmse=[1.0, 0.25])
    rows.append(tmp_path / "rows.jsonl", [old, a_row(1), new])
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    found = evaluation.load(tmp_path)
    assert sorted(zip(found["seed"].tolist(), found["rmse"].tolist(), strict=True)) == [(0, 0.25), (1, 0.5)]


def test_with_pandas_it_is_a_frame(tmp_path):
    pandas = pytest.importorskip("pandas")
    rows.append(tmp_path / "rows.jsonl", [a_row(0), a_row(1)])
    found = evaluation.load(tmp_path)
    assert isinstance(found, pandas.DataFrame)
    assert found.groupby("method").rmse.mean()["random"] == 0.5


def test_a_directory_without_results_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"but must be the --out of an evaluation: rows.jsonl is missing"):
        evaluation.load(tmp_path)
