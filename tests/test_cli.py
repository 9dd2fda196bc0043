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


def points(text: str) -> np.ndarray:
    return np.array([line.split(",") for line in text.splitlines()], float)


def test_propose_is_the_learner(run, tmp_path):
    (tmp_path / "data.csv").write_text("temperature,pressure,yield\n1,2,30\n\n-4.5,1e1,50\n")
    learner = alx.Learner(random_policy(network="paper"), [(-5, 10), (0, 15)])
    learner.tell([[1, 2], [-4.5, 10]], [30, 50])
    bounds = ["--bounds", "-5", "10", "0", "15"]
    found = points(run("propose", "policy.safetensors", "data.csv", *bounds, "-n", "3"))
    np.testing.assert_allclose(found, learner.ask(3), rtol=1e-6)


def test_propose_from_standard_input_without_points_or_bounds(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    found = points(run("propose", "policy.safetensors", "-"))
    np.testing.assert_allclose(
        found[0], alx.propose(random_policy(network="paper"), alx.History.empty(7, 2)), atol=1e-6
    )


def test_propose_goes_past_the_budget_of_the_policy(run, tmp_path):
    rows = np.random.default_rng(0).random((40, 3))
    np.savetxt(tmp_path / "data.csv", rows, delimiter=",")
    assert points(run("propose", "policy.safetensors", "data.csv")).shape == (1, 2)


def test_no_row_is_taken_for_a_header_by_mistake(run, tmp_path, capsys):
    bounds, rows = ["--bounds", "0", "9", "0", "9"], "1,2,30\n4,5,60\n"
    (tmp_path / "plain.csv").write_text(rows)
    (tmp_path / "marked.csv").write_text(rows, "utf-8-sig")  # as spreadsheets write it
    plain = run("propose", "policy.safetensors", "plain.csv", *bounds)
    assert run("propose", "policy.safetensors", "marked.csv", *bounds) == plain
    (tmp_path / "slip.csv").write_text("1o,2,30\n4,5,60\n")
    with pytest.raises(SystemExit):
        run("propose", "policy.safetensors", "slip.csv", *bounds)
    assert "got '1o,2,30' in row 1" in capsys.readouterr().err


def test_an_endless_file_is_refused(run, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run("propose", "policy.safetensors", "/dev/zero")
    assert "more than the 64 MB" in capsys.readouterr().err


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
        (("propose", "absent", "data.csv"), "neither a policy file nor a shipped policy 'absent'"),
        (("propose", "policy.safetensors", "absent.csv"), "No such file"),
        (("propose", "policy.safetensors", "data.csv"), "needs 3 numbers in each row, got '1,x,3' in row 2"),
        (("propose", "policy.safetensors", "policy.safetensors"), "not a text file"),
        (
            ("propose", "policy.safetensors", "good.csv", "--bounds", "0", "1"),
            "each of 2 inputs, got 2 numbers",
        ),
        (("propose", "policy.safetensors", "good.csv", "--bounds", "1", "0", "0", "1"), "low < high"),
        (("propose", "policy.safetensors", "good.csv", "-n", "99999"), "budget must be at most 4096"),
        (("propose", "policy.safetensors", "good.csv", "-n", "0"), "whole number of at least 1"),
        (("propose", "policy.safetensors", "good.csv", "--y-std", "-1"), "y_std must be positive"),
        (("propose", "good.csv", "good.csv"), "not a policy file"),
        (("export", "policy.safetensors", "--out", "absent/p"), "No such file"),
        (("export", "general", "--out", "p"), "dim must be given"),
        (("list", "absent"), "not a shipped policy"),
    ],
)
def test_bad_input_ends_in_one_sentence(run, capsys, tmp_path, argv, message):
    (tmp_path / "data.csv").write_text("0.1,0.2,3\n1,x,3\n")
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
