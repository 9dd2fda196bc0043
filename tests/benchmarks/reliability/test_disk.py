"""A disk that is full, cannot be written or vanishes: one clear error, nothing lost, and it goes on later."""

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from random_policy import random_policy
from small_run import COMMAND, TRAINER, design, stop_at, train

import alx
import evaluate
from alx.io import lock
from alx.train import cli as train_cli
from alx.train import run
from benchmarks.evaluation import protocol, rows

pytestmark = pytest.mark.usefixtures("small_runs")
NOWHERE = "/proc/alx"  # not even root can write there


@contextlib.contextmanager
def files_of_at_most(size):
    """Longer files cannot be written, as on a disk with no more room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(autouse=True)
def _no_compilation_cache():
    """JAX only warns when the disk has no room for what it compiled; here a warning is an error."""
    jax.config.update("jax_enable_compilation_cache", False)
    yield
    jax.config.update("jax_enable_compilation_cache", True)


def visible(directory):
    return sorted(path.name for path in directory.iterdir())


FULL = """
import resource, sys
from pathlib import Path
import pytest, small_run
from alx.train import run

patch = pytest.MonkeyPatch()
patch.setattr(run, "EPOCH", 4)
small_run.one_device(patch)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
for size in (500, 900, 1500):
    out = Path(sys.argv[1]) / str(size)
    run.create(out, small_run.TRAINER, small_run.COMMAND)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        small_run.train(out)
    except OSError as error:
        print(size, error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (out / run.POLICY).exists()
    small_run.train(out)
"""


def test_training_on_a_full_disk_stops_and_goes_on_when_there_is_room(tmp_path, finished, cache_directory):
    """In a process of its own: where writing fails, orbax leaves threads that fail once more."""
    tests = Path(__file__).parents[2]
    environment = os.environ | {
        "PYTHONPATH": f"{tests}:{tests.parent}",
        "JAX_NUM_CPU_DEVICES": "4",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
        "JAX_COMPILATION_CACHE_DIR": str(cache_directory),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], env=environment, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["500", "900", "1500"]
    assert all("cannot be written" in line or "File too large" in line for line in lines)
    for size in ("500", "900", "1500"):
        np.testing.assert_array_equal(design(tmp_path / size), design(finished))
        assert visible(tmp_path / size) == visible(finished)


def test_a_run_that_cannot_be_made_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="cannot be written: File too large"), files_of_at_most(100):
        run.create(tmp_path / "run", TRAINER, COMMAND)
    with pytest.raises(ValueError, match="cannot be written"):
        run.create(Path(NOWHERE), TRAINER, COMMAND)
    assert visible(tmp_path) == []


def test_an_empty_directory_may_become_a_run(tmp_path):
    (tmp_path / "run").mkdir()
    run.create(tmp_path / "run", TRAINER, COMMAND)
    assert visible(tmp_path / "run") == ["config.json"]


def test_a_learner_keeps_its_old_file_and_goes_on(tmp_path):
    one = alx.Learner(random_policy(), [(0, 1), (0, 1)])
    one.tell(one.ask(), 1.0)
    one.save(tmp_path / "state")
    one.tell(one.ask(), 2.0)
    with pytest.raises(OSError, match="too large"), files_of_at_most(1000):
        one.save(tmp_path / "state")
    with pytest.raises(OSError, match="alx"):
        one.save(f"{NOWHERE}/state")
    assert alx.Learner.load(tmp_path / "state").y.tolist() == [1.0]
    assert visible(tmp_path) == [".state.lock", "state"]
    one.save(tmp_path / "state")
    assert alx.Learner.load(tmp_path / "state").y.tolist() == [1.0, 2.0]


def test_jumps_of_the_clock_change_nothing(tmp_path, finished, monkeypatch):
    jumps = np.random.default_rng(0)
    now, year = time.time(), 3e7
    monkeypatch.setattr(time, "time", lambda: now + jumps.uniform(-year, year))
    monkeypatch.setattr(time, "time_ns", lambda: int(1e9 * time.time()))
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(out, stop_at(8))
    train(out)
    np.testing.assert_array_equal(design(out), design(finished))
    assert visible(out / "checkpoints") == visible(finished / "checkpoints")


def test_a_run_removed_while_it_trains_says_so_and_is_not_made_anew(tmp_path, finished):
    out = tmp_path / "run"
    with pytest.raises(OSError, match="run was removed while it was in use"):
        train(out, lambda epoch: shutil.rmtree(out))
    assert not out.exists()


def test_a_run_started_anew_in_the_same_place_is_left_to_its_new_owner(tmp_path):
    out = tmp_path / "run"

    def replace(epoch):
        shutil.rmtree(out)
        out.mkdir()
        (out / "lock").touch()

    with pytest.raises(OSError, match="removed while it was in use"):
        train(out, replace)
    assert visible(out) == ["lock"]


def test_the_command_says_in_one_line_how_to_go_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["train.py", "--dim", "1", "--T", "2", "--out", str(tmp_path / "run")])
    monkeypatch.setattr(train_cli, "start_devices", lambda *_: None)

    def full(*_):
        raise OSError("no room")

    monkeypatch.setattr(run, "train", full)
    assert train_cli.main() == 1
    expected = f"train.py: no room; go on with: python train.py --resume {tmp_path / 'run'}\n"
    assert capsys.readouterr().err == expected


@pytest.fixture
def evaluation(tmp_path, monkeypatch, capsys):
    """Evaluate in ``tmp_path / 'out'`` and return the error; the rows come without any computation."""

    def fresh(task, method, seeds, budget):
        row = {"task": task.name, "method": method.name, "rmse": [1.0, 0.5], "x": [[0.2], [0.4]]}
        row |= {"fingerprint": protocol.fingerprint(task, method, budget), "y": [1.0, 2.0]}
        return [row | {"seed": s, "query_seconds": [0.1], "compile_seconds": 0.0} for s in seeds]

    def call(compute=fresh):
        monkeypatch.setattr(protocol, "run", compute)
        what = ["--suite", "sin", "--budget", "1", "--seeds", "6", "--methods", "random", "--out"]
        monkeypatch.setattr(sys, "argv", ["evaluate.py", *what, str(tmp_path / "out")])
        with contextlib.suppress(SystemExit):
            evaluate.main()
        return capsys.readouterr().err

    call.rows = fresh
    return call


def test_evaluating_on_a_full_disk_stops_and_goes_on_when_there_is_room(evaluation, tmp_path):
    with files_of_at_most(4000):
        assert "File too large" in evaluation()
    assert evaluation() == ""
    assert len(rows.read(tmp_path / "out/rows.jsonl")) == 6
    assert visible(tmp_path / "out") == [
        "figures",
        "lock",
        "report.html",
        "rows.csv",
        "rows.jsonl",
        "tables.md",
    ]


def test_a_second_evaluation_of_the_same_results_is_told_so(evaluation, tmp_path):
    assert evaluation() == ""
    with lock.hold(tmp_path / "out"):
        assert "out is in use by another process" in evaluation()


def test_results_removed_while_they_are_made_are_named(evaluation, tmp_path):
    def remove(*arguments):
        shutil.rmtree(tmp_path / "out")
        return evaluation.rows(*arguments)

    assert "out was removed while it was in use" in evaluation(remove)
    assert not (tmp_path / "out").exists()
