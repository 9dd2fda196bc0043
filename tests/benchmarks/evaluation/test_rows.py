import csv
import json

import pytest

from benchmarks.evaluation import rows


def a_row(seed=0, **changes):
    row = {"task": "sin", "method": "random", "seed": seed, "fingerprint": "f", "rmse": [1.0, 0.5]}
    return (
        row | {"query_seconds": [0.1], "compile_seconds": 0.0, "x": [[0.2], [0.4]], "y": [1.0, 2.0]} | changes
    )


def test_rows_come_back_as_they_were(tmp_path):
    path = tmp_path / "rows.jsonl"
    assert rows.read(path) == []
    rows.append(path, [a_row(0)])
    rows.append(path, [a_row(1), a_row(2)])
    assert rows.read(path) == [a_row(0), a_row(1), a_row(2)]


@pytest.mark.parametrize("kept", [1, 40, -1])
def test_a_half_written_end_is_cut_off_and_writing_goes_on(tmp_path, kept):
    path = tmp_path / "rows.jsonl"
    rows.append(path, [a_row(0), a_row(1)])
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:kept])
    assert rows.read(path) == [a_row(0)]
    rows.append(path, [a_row(2)])
    assert rows.read(path) == [a_row(0), a_row(2)]


@pytest.mark.parametrize(
    "line",
    [
        *("not json", "[1, 2]", '{"task": "sin"}', "7", "[" * 99_999),
        json.dumps(a_row(rmse="low")),
        json.dumps(a_row(rmse=[1.0])),
        json.dumps(a_row(y=[1.0, float("nan")])),
        json.dumps(a_row(x=[[0.2], [0.4, 0.5]])),
        json.dumps(a_row(seed="0")),
        json.dumps(a_row(task=["sin"])),
        json.dumps(a_row(judged=[1])),
        json.dumps(a_row(judged=[2, 1])),
    ],
)
def test_a_foreign_file_is_refused_and_kept(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(ValueError, match="line 1, is not a row of an evaluation"):
        rows.read(path)
    assert path.read_text() == line + "\n"


def test_a_csv_has_a_line_per_point(tmp_path):
    flat = a_row(x=[[0.2, 0.3], [0.4, 0.6]], environment={"device": "cpu"})
    rows.write_csv(tmp_path / "rows.csv", [a_row(environment={"command": "again"}), flat])
    lines = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    assert [line["point"] for line in lines] == ["1", "2", "1", "2"]
    assert list(lines[1].values())[:9] == ["sin", "random", "0", "2", "0.4", "", "2.0", "0.5", "0.1"]
    assert (lines[0]["command"], lines[2]["commit"], lines[3]["device"]) == ("again", "", "cpu")
    assert (lines[3]["x2"], lines[2]["query_seconds"]) == ("0.6", "")


def test_only_what_was_judged_has_an_rmse(tmp_path):
    row = a_row(judged=[2], rmse=[0.5])
    rows.append(tmp_path / "rows.jsonl", [row])
    assert rows.read(tmp_path / "rows.jsonl") == [row]
    rows.write_csv(tmp_path / "rows.csv", [row])
    lines = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    assert [line["rmse"] for line in lines] == ["", "0.5"]
