"""python -m alx: what it prints, and one sentence and exit code 2 for what it cannot do."""

import io
import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from random_policy import random_policy

import alx
from alx.__main__ import main


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    alx.save("policy.safetensors", random_policy(network="paper"), {})

    def call(*argv: str) -> str:
        monkeypatch.setattr(sys, "argv", ["alx", *argv])
        main()
        return capsys.readouterr().out

    return call


PAPER, UNIT = ("--policy", "policy.safetensors"), ("--bounds", "0", "1", "0", "1")


def points(text: str) -> np.ndarray:
    return np.array([line.split(",") for line in text.splitlines()], float)


def test_propose_is_the_learner(run, tmp_path):
    (tmp_path / "data.csv").write_text("temperature,pressure,yield\n1,2,30\n\n-4.5,1e1,50\n")
    learner = alx.Learner(random_policy(network="paper"), [(-5, 10), (0, 15)])
    learner.tell([[1, 2], [-4.5, 10]], [30, 50])
    bounds = ["--bounds", "-5", "10", "0", "15"]
    found = points(run("propose", "data.csv", *PAPER, *bounds, "-n", "3"))
    np.testing.assert_allclose(found, learner.ask(3), rtol=1e-6)


def test_propose_from_standard_input_without_points(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    found = points(run("propose", "-", *PAPER, "--bounds", "0", "1", "0", "1"))
    np.testing.assert_allclose(
        found[0], alx.propose(random_policy(network="paper"), alx.History.empty(7, 2)), atol=1e-6
    )


def test_propose_goes_past_the_budget_of_the_policy(run, tmp_path):
    rows = np.random.default_rng(0).random((40, 3))
    np.savetxt(tmp_path / "data.csv", rows, delimiter=",")
    assert points(run("propose", "data.csv", *PAPER, "--bounds", "0", "1", "0", "1")).shape == (1, 2)


def test_no_row_is_taken_for_a_header_by_mistake(run, tmp_path, capsys):
    bounds, rows = [*PAPER, "--bounds", "0", "9", "0", "9"], "1,2,30\n4,5,60\n"
    (tmp_path / "plain.csv").write_text(rows)
    (tmp_path / "marked.csv").write_text(rows, "utf-8-sig")  # as spreadsheets write it
    plain = run("propose", "plain.csv", *bounds)
    assert run("propose", "marked.csv", *bounds) == plain
    (tmp_path / "slip.csv").write_text("1o,2,30\n4,5,60\n6,7,8\n")
    with pytest.raises(SystemExit):
        run("propose", "slip.csv", *bounds)
    assert "slip.csv" in capsys.readouterr().err


def test_an_endless_file_is_refused(run, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run("propose", "/dev/zero", *PAPER)
    assert "more than the 64 MB" in capsys.readouterr().err


BENCH = """torque [Nm];fuel;nox [ppm];co;date
20,5;a;221,3;1;3 May
280;b;853,8;2;3 May
150;a;;;4 May
60;b;437,7;5;4 May
"""


def test_fit_writes_a_card_and_a_picture_and_predict_agrees_with_the_learner(run, tmp_path):
    (tmp_path / "bench.csv").write_text(BENCH)
    columns = ["--inputs", "torque", "fuel", "--outputs", "nox", "co"]
    text = run("fit", "bench.csv", *columns, "--out", "out")
    assert (tmp_path / "out.md").read_text() == text
    assert text.startswith("# Model of bench.csv\n\nPoints measured: 3, failed: 1.\n")
    assert "| torque | 20.5 to 280 Nm |" in text
    assert "| fuel | a, b |" in text
    assert "| nox |" in text
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "at.csv").write_text("fuel,torque\nb,100\na,30.5\n")
    lines = run("predict", "bench.csv", *columns, "--at", "at.csv", "--level", "0.5").splitlines()
    assert lines[0] == "torque,fuel,nox mean,nox sd,nox low,nox high,co mean,co sd,co low,co high"
    learner = alx.Learner(
        inputs=[alx.Real("torque", 20.5, 280, unit="Nm"), alx.Choice("fuel", ["a", "b"])],
        outputs=["nox", "co"],
    )
    learner.from_csv("bench.csv")
    mean, sd = learner.predict([[100, "b"], [30.5, "a"]])
    low, _ = learner.interval([[100, "b"], [30.5, "a"]], 0.5)
    for line, *wanted in zip(lines[1:], mean, sd, low, strict=True):
        cells = line.split(",")
        np.testing.assert_allclose(np.array([cells[2:5], cells[6:9]], float).T, wanted, rtol=1e-4)


def test_export_writes_either_kind(run, tmp_path):
    shape = ("--dim", "2", "--capacity", "3")
    assert "wrote p.jaxexport" in run("export", "policy.safetensors", "--out", "p.jaxexport", *shape)
    exported = jax.export.deserialize(bytearray((tmp_path / "p.jaxexport").read_bytes()))
    found = exported.call(np.zeros((3, 2), np.float32), np.zeros(3, np.float32), np.zeros(3, bool))
    np.testing.assert_allclose(
        found, alx.propose(random_policy(network="paper"), alx.History.empty(3, 2)), atol=1e-6
    )
    alx.save("paper.safetensors", random_policy(network="paper"), {})
    run("export", "paper.safetensors", "--out", "p.onnx")
    assert b"x_next" in (tmp_path / "p.onnx").read_bytes()


def test_list_names_every_shipped_policy(run):
    assert [line.split(": ")[0] for line in run("list").splitlines()] == alx.shipped()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ("propose", "data.csv", "--policy", "absent"),
            "neither a policy file nor a shipped policy 'absent'",
        ),
        (("propose", "absent.csv", *PAPER), "cannot be read: No such file"),
        (("propose", "good.csv", *PAPER), "--bounds is needed"),
        (("propose", "data.csv", *PAPER, *UNIT), "needs a number for x2, got 'x' in line 2"),
        (("propose", "policy.safetensors", *PAPER), "not a text file"),
        (("propose", "good.csv", *PAPER, "--bounds", "0", "1"), "each of 2 inputs, got 2 numbers"),
        (("propose", "good.csv", *PAPER, "--bounds", "1", "0", "0", "1"), "low < high"),
        (("propose", "good.csv", *PAPER, *UNIT, "-n", "99999"), "points with 2 inputs would take 6597 GB"),
        (("propose", "good.csv", *PAPER, *UNIT, "-n", "0"), "whole number of at least 1"),
        (("propose", "good.csv", *PAPER, *UNIT, "--y-std", "-1"), "y_std must be positive"),
        (("propose", "good.csv", *UNIT, "--policy", "good.csv"), "not a policy file"),
        (("fit", "good.csv"), "no two values of x1: give --bounds"),
        (("fit", "good.csv", *UNIT), "has 1 measured points, and a model needs two at least"),
        (("fit", "good.csv", "--outputs", "z"), "has no column 'z', got 'x1, x2, y'"),
        (("predict", "data.csv", "--at", "absent.csv"), "absent.csv cannot be read"),
        (("export", "policy.safetensors", "--out", "absent/p"), "No such file"),
        (("export", "general", "--out", "p"), "dim must be given"),
        (("list", "absent"), "not a shipped policy"),
    ],
)
def test_bad_input_ends_in_one_sentence(run, capsys, tmp_path, argv, message):
    (tmp_path / "data.csv").write_text("0.1,0.2,3\n1,x,3\n0.3,0.4,5\n")
    (tmp_path / "good.csv").write_text("0.1,0.2,3\n")
    with pytest.raises(SystemExit) as caught:
        run(*argv)
    assert caught.value.code == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert len(error.splitlines()) == 1


def test_it_starts_as_a_module_and_import_alx_stays_light():
    subprocess.run([sys.executable, "-m", "alx", "list"], check=True, timeout=120)
    heavy = "import sys, alx; print(*{'tyro', 'matplotlib', 'orbax', 'torch', 'onnx'} & {*sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", heavy], check=True, timeout=120, capture_output=True, text=True
    )
    assert loaded.stdout.strip() == ""


def test_a_reader_that_stops_early_is_no_error():
    """As in `alx list | head -1`."""
    end, start = os.pipe()
    os.close(end)
    try:
        command = [sys.executable, "-m", "alx", "list"]
        ran = subprocess.run(command, stdout=start, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(start)
    assert (ran.stderr, ran.returncode) == ("", 0)
