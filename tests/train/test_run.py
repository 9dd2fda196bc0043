"""A run on disk: checkpoints, resuming, and what happens when something is wrong with it."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_run import COMMAND, TRAINER, ToyTrainer, contents, design, one_device, stop_at, train

from alx.io import store
from alx.train import curve, run
from alx.train import step as training
from alx.train.metrics import FIELDS

pytestmark = pytest.mark.usefixtures("small_runs")


def test_a_run_leaves_metrics_checkpoints_a_curve_and_a_policy(finished):
    epochs = run.read_metrics(finished)
    assert [epoch["step"] for epoch in epochs] == [4, 8, 10]
    assert {"loss", "norm", "rmse", "rmse_uniform", "seconds"} <= epochs[0].keys()
    assert sorted(int(p.name) for p in (finished / "checkpoints").iterdir()) == [8, 10]
    assert (finished / "curve.png").read_bytes()[1:4] == b"PNG"
    record = store.read_record(finished / "policy.safetensors")
    assert record["objective"] == "toy"
    assert record["training"] == TRAINER.to_json()
    assert record["metrics"]["step"] == 10
    assert record["metrics"]["rmse"] == epochs[-1]["rmse"]
    np.testing.assert_allclose(record["metrics"]["selection_loss"], np.mean([e["loss"] for e in epochs]))
    assert {"jax", "python", "alx"} <= record["versions"].keys()
    assert run.read(finished) == (TRAINER, COMMAND, 1)


@pytest.mark.parametrize("step", [4, 8])
def test_an_interrupted_run_goes_on_to_the_same_numbers(tmp_path, finished, step):
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run", stop_at(step))
    assert not (tmp_path / "run/policy.safetensors").exists()
    seen = []
    train(tmp_path / "run", lambda epoch: seen.append(epoch["step"]))
    assert seen == [s for s in (4, 8, 10) if s > step]
    np.testing.assert_array_equal(design(tmp_path / "run"), design(finished))
    losses = [
        [(e["step"], e["loss"], e["rmse"]) for e in run.read_metrics(o)] for o in (tmp_path / "run", finished)
    ]
    assert losses[0] == losses[1]


def test_a_checkpoint_goes_on_on_another_number_of_devices(tmp_path, finished, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run", stop_at(4))
    one_device(monkeypatch, 2)
    train(tmp_path / "run")
    np.testing.assert_allclose(design(tmp_path / "run"), design(finished), atol=1e-6)


def test_a_run_can_start_from_a_policy_of_another_budget_that_is_gone_later(tmp_path, finished):
    shutil.copyfile(finished / "policy.safetensors", tmp_path / "first.safetensors")
    still = ToyTrainer(T=3, start=str(tmp_path / "first.safetensors"), rate=0.0)
    run.create(tmp_path / "run", still, COMMAND)
    (tmp_path / "first.safetensors").unlink()
    run.train(still, tmp_path / "run", lambda epoch: None)
    np.testing.assert_array_equal(design(tmp_path / "run"), design(finished))
    assert np.abs(design(finished)).max() > 0.01
    assert run.read(tmp_path / "run").trainer == still


def test_resuming_a_finished_run_changes_nothing(finished):
    before = contents(finished)
    assert train(finished, lambda epoch: pytest.fail("it trained again"))["step"] == 10
    assert contents(finished) == before


def test_a_finished_run_without_its_policy_file_writes_it_again(tmp_path, finished):
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run/policy.safetensors").unlink()
    train(tmp_path / "run", lambda epoch: pytest.fail("it trained again"))
    np.testing.assert_array_equal(design(tmp_path / "run"), design(finished))


def damaged(finished, tmp_path):
    """Copies of a run with one file of the last checkpoint cut short, or with a flipped bit."""
    files = sorted(p for p in (finished / "checkpoints/10").rglob("*") if p.is_file() and p.stat().st_size)
    for number, path in enumerate(files):
        for kind in ("cut", "flip"):
            data = bytearray(path.read_bytes())
            middle = len(data) // 2
            if kind == "cut":
                del data[middle:]
            else:
                data[middle] ^= 1
            out = tmp_path / f"{number}-{kind}"
            shutil.copytree(finished, out)
            (out / path.relative_to(finished)).write_bytes(data)
            yield out


# Orbax leaves the other reads of a failed restore behind, for the garbage collector to complain about.
RESUME = """
import sys
from pathlib import Path
from alx.train import run

for out in map(Path, sys.argv[1:]):
    try:
        run.train(run.read(out).trainer, out, lambda epoch: print("it trained again"))
    except ValueError as error:
        print(error)
"""


def test_a_damaged_checkpoint_is_an_error_or_does_not_matter(tmp_path, finished):
    """In a process of its own: where reading fails, orbax leaves coroutines that nobody ever awaits."""
    copies = list(damaged(finished, tmp_path))
    before = [contents(out) for out in copies]
    command = [sys.executable, "-c", RESUME, *map(str, copies)]
    root = Path(__file__).parents[2]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (root, root / "tests")))}
    done = subprocess.run(command, cwd=root, env=path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    messages = done.stdout.splitlines()
    assert len(messages) >= 4, "the arrays themselves were never damaged"
    assert all("/checkpoints/10 is damaged; without it the run goes on" in message for message in messages)
    assert any("its checksum differs" in message for message in messages)
    assert [contents(out) for out in copies] == before


def test_without_a_damaged_checkpoint_the_run_goes_on_from_the_one_before(tmp_path, finished):
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    shutil.rmtree(out / "checkpoints/10")
    (out / "policy.safetensors").unlink()
    seen = []
    train(out, lambda epoch: seen.append(epoch["step"]))
    assert seen == [10]
    assert [epoch["step"] for epoch in run.read_metrics(out)] == [4, 8, 10]
    np.testing.assert_array_equal(design(out), design(finished))


@pytest.mark.parametrize("where", ["loss", "norm", "rmse"])
def test_a_number_that_is_not_finite_stops_the_run_and_keeps_the_last_checkpoint(
    tmp_path, finished, monkeypatch, where
):
    make_step, make_validation = ToyTrainer.make_step, ToyTrainer.make_validation

    def bad_step(trainer, mesh):
        step = make_step(trainer, mesh)

        def broken(state):
            state, metrics = step(state)
            return state, {**metrics, where: float("nan")} if int(state.step) == 6 else metrics

        return broken

    def bad_validation(trainer, mesh):
        validate, answers = make_validation(trainer, mesh), iter([{}, {"rmse": float("inf")}])
        return lambda params: validate(params) | next(answers)

    with monkeypatch.context() as patch:
        if where == "rmse":
            patch.setattr(ToyTrainer, "make_validation", bad_validation)
        else:
            patch.setattr(ToyTrainer, "make_step", bad_step)
        with pytest.raises(run.DivergedError, match=f"step {8 if where == 'rmse' else 6}:"):
            train(tmp_path / "run")
    assert [p.name for p in (tmp_path / "run/checkpoints").iterdir()] == ["4"]
    assert not (tmp_path / "run/policy.safetensors").exists()
    train(tmp_path / "run")
    np.testing.assert_array_equal(design(tmp_path / "run"), design(finished))


def test_a_second_process_is_told_so(finished):
    before = contents(finished)
    with open(finished / "lock") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(ValueError, match="another process"):
            train(finished)
    assert contents(finished) == before


def test_a_line_cut_short_by_a_kill_is_left_out(tmp_path):
    epochs = [dict.fromkeys(FIELDS, 1.0) | {"step": step} for step in (4, 8)]
    lines = [json.dumps(epoch) for epoch in epochs]
    (tmp_path / "metrics.jsonl").write_text(lines[0] + "\n" + lines[1][:-1])
    assert run.read_metrics(tmp_path) == epochs[:1]
    assert run.read_metrics(tmp_path / "elsewhere") == []


@pytest.mark.parametrize("line", ["", "7", "[]", '{"step": 4}', '{"loss": NaN}', "\x00", "[" * 99_999])
def test_a_damaged_line_of_the_metrics_stops_a_resume_before_it_loses_the_others(tmp_path, finished, line):
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    path = out / "metrics.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], line, *lines[3:], ""]))
    before = contents(out)
    with pytest.raises(ValueError, match=r"metrics\.jsonl, line 3, is not what alx wrote"):
        train(out)
    assert contents(out) == before


def test_a_run_without_its_metrics_is_named(tmp_path, finished):
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run/metrics.jsonl").unlink()
    with pytest.raises(ValueError, match=r"checkpoint of step 10 but a metrics\.jsonl that ends at step 0"):
        train(tmp_path / "run")


def test_drafts_of_a_killed_process_are_swept_out(tmp_path, finished):
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run/.policy.safetensors.0123456789abcdef.tmp").write_bytes(b"half")
    train(tmp_path / "run")
    assert not list((tmp_path / "run").glob(".*"))


def test_the_files_of_a_run_say_where_they_come_from(finished):
    record = store.read_record(finished / "policy.safetensors")
    first = json.loads((finished / "metrics.jsonl").read_text().splitlines()[0])
    for origin in (record, first):
        assert origin["command"] == "python train.py --dim 1 --T 2"
        assert {"versions", "commit", "device"} <= origin.keys()
    assert b'Description\x00{"command": "python train.py' in (finished / "curve.png").read_bytes()


def test_the_best_of_several_seeds_is_chosen_by_its_last_500_losses(monkeypatch):
    monkeypatch.setattr(run, "EPOCH", training.EPOCH)
    assert run.selection_loss([{"loss": loss} for loss in [99.0] * 5 + [1.0] * 10]) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"trainer": 1}',
        '{"trainer": "alx.train.trainer:RolloutTrainer", "config": {"steps": 1}}',
        '{"trainer": "nowhere:Trainer", "config": {}}',
        "[1]",
    ],
)
def test_a_config_that_cannot_be_read_is_one_line(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=r"config\.json that cannot be read") as error:
        run.read(tmp_path)
    assert "\n" not in str(error.value)


def test_each_phase_has_a_curve_and_an_epoch_of_two_is_in_neither():
    epochs = [{"step": step, "loss": -step} for step in (50, 100, 150, 200)]
    phases = [("error", 120), ("deviation", 200)]
    inside = {name: [e["step"] for e in found] for name, found in curve.split_phases(phases, epochs).items()}
    assert inside == {"error": [50, 100], "deviation": [200]}
    assert [e["step"] for e in curve.split_phases([("dad", 200)], epochs)["dad"]] == [50, 100, 150, 200]


def test_the_curve_draws_whatever_was_measured(tmp_path):
    epochs = [
        {"step": s, "loss": 1.0, "norm": 1.0, "seconds": 1.0, "regret": 2.0, "loss_bound": 0.5}
        for s in (1, 2)
    ]
    curve.plot(tmp_path / "curve.png", [("first", 1), ("second", 2)], epochs, {})
    assert (tmp_path / "curve.png").read_bytes()[1:4] == b"PNG"
