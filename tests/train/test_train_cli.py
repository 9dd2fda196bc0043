"""train.py as users start it: errors of one line, and a kill that loses nothing."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import train

ROOT = Path(train.__file__).parent
QUICK = "--dim 1 --T 2 --network static --prior paper --batch 4 1 1 --devices 2"


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Call main() in this process, where the devices are set up already, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(train, "start_devices", lambda arguments: None)
    monkeypatch.setattr(train.run, "train", lambda *_: pytest.fail("it started to train"))

    def main(*arguments) -> str:
        monkeypatch.setattr(sys, "argv", ["train.py", *map(str, arguments)])
        assert train.main() == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        assert printed.err.startswith("train.py: ")
        return printed.err

    return main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--dim 0 --T 5", "dim must be a whole number of at least 1, got 0"),
        ("--dim 1 --T 0", "T must be a whole number of at least 1, got 0"),
        ("--dim 1", "--dim and --T are needed"),
        ("--dim 1 --T 5 --n-init -1", "n_init must be"),
        ("--dim 1 --T 5 --objective luck", "got 'luck'"),
        ("--dim 1 --T 5 --prior flat", "got 'flat'"),
        ("--dim 1 --T 5 --objective dad --myopic", "myopic training has no objective dad"),
        ("--dim 1 --T 5 --steps 0", "steps must be at least 1"),
        ("--dim 1 --T 5 --chunk 0", "chunk must be at least 1"),
        ("--dim 1 --T 5 --lr -1", "lr must be a positive number"),
        ("--dim 1 --T 5 --bound 0", "bound must be a positive number, got 0"),
        ("--dim 1 --T 5 --seed -1", "seed must be"),
        ("--dim 1 --T 5 --seeds 0", "--seeds must be at least 1"),
        ("--dim 1 --T 5 --batch 4 0 1", "batch must be"),
        ("--dim 1 --T 5 --lengthscale 2 1", "lengthscale must be a range"),
        ("--dim 1 --T 5 --warped 2", "warped must be a share between 0 and 1, got 2"),
        ("--dim 1 --T 5 --start nowhere", "neither a policy file nor a shipped policy 'nowhere'"),
        ("--dim 2 --T 5 --start dim1-T10", "--start dim1-T10 has --dim 1 --network anchors; it cannot start"),
        ("--dim 1 --T 5 --network paper --start dim1-T10", "a policy with --dim 1 --network paper"),
        ("--resume nowhere", "is not a run"),
    ],
)
def test_a_wrong_argument_is_one_line_and_leaves_nothing(call, tmp_path, arguments, message):
    assert message in call(*arguments.split())
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_exists_is_left_alone(call, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/note").write_text("mine")
    message = call("--dim", 1, "--T", 5, "--out", "run")
    assert "--out run exists already" in message
    assert "--resume run" in message
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["note"]


def test_a_directory_that_cannot_be_made_is_named(call, tmp_path):
    (tmp_path / "file").write_text("mine")
    assert "--out file/run cannot be written: Not a directory" in call(
        "--dim", 1, "--T", 5, "--out", "file/run"
    )
    assert "cannot be written: File name too long" in call("--dim", 1, "--T", 5, "--out", "x" * 300)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--steps 70", "steps was 60 and is 70"),
        ("--lr 0.5 --dim 2", "dim was 1 and is 2; warmup was 0 and is 30; lr was 0.01 and is 0.5"),
        ("--seed 0", "seed was 7 and is 0"),
        ("--n-init 1", "n_init was 2 and is 1"),
        ("--seeds 3", "seeds was 1 and is 3"),
        ("--prior wide", "kernels was"),
        ("--out other", "name two directories"),
    ],
)
def test_resuming_with_another_config_shows_the_difference(call, tmp_path, arguments, message):
    request = train.Request(dim=1, T=5, steps=60, seed=7, n_init=2, prior="paper", lr=0.01)
    train.run.create(tmp_path / "run", request, train.recipes.config(request))
    before = (tmp_path / "run/config.json").read_bytes()
    assert message in call("--resume", "run", *arguments.split())
    assert (tmp_path / "run/config.json").read_bytes() == before


@pytest.mark.parametrize("arguments", ["--dim two --T 5", "--network deep", "--batch 4", "--nonsense"])
def test_what_cannot_be_parsed_exits_with_2(monkeypatch, capsys, arguments):
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments.split()])
    with pytest.raises(SystemExit) as stop:
        train.main()
    assert stop.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def start(*arguments, cache: Path) -> subprocess.Popen:
    """Start train.py where its home, its temporary and its working directory are one that is empty."""
    command = [sys.executable, str(ROOT / "train.py"), *map(str, arguments)]
    elsewhere = cache.with_name("elsewhere")
    elsewhere.mkdir(exist_ok=True)
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    environment |= {"HOME": str(elsewhere), "TMPDIR": str(elsewhere), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, cwd=elsewhere, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen) -> str:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out


def test_a_killed_run_goes_on_to_the_very_same_policy(tmp_path):
    cache, whole, killed = tmp_path / "cache", tmp_path / "whole", tmp_path / "killed"
    out = finish(start(*QUICK.split(), "--steps", 300, "--out", whole, cache=cache))
    assert f"python evaluate.py --policy {whole}/policy.safetensors" in out
    process = start(*QUICK.split(), "--steps", 300, "--out", killed, cache=cache)
    deadline = time.monotonic() + 300
    while not (killed / "checkpoints/100").exists() and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (killed / "policy.safetensors").exists(), "the kill came too late to test anything"
    process = start("--resume", killed, "--devices", 2, cache=cache)
    lines = [line for line in finish(process).splitlines() if line.startswith("step ")]
    assert 0 < len(lines) < 6, "it went on and did not start again"
    for name in ("policy.safetensors", "curve.png"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    assert [epoch["step"] for epoch in train.run.read_metrics(killed)] == list(range(50, 301, 50))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "elsewhere", "killed", "whole"]
    assert not list((tmp_path / "elsewhere").iterdir()), "it wrote outside of the run and the cache"


def test_every_range_and_share_of_the_prior_can_be_given():
    given: dict[str, Any] = {"lengthscale": (0.1, 2.0), "noise_sd": (0.1, 0.2), "variance": (0.5, 1.5)}
    given |= {"modulated": 0.1, "warped": 0.0, "oscillating": 0.2}
    request = train.Request(dim=1, T=5, **given)
    prior, plain = train.recipes.prior(request, "anchors"), train.recipes.PRIORS["unit"]
    assert prior == dataclasses.replace(plain, **given)
    assert train.recipes.prior(train.Request(dim=1, T=5), "anchors") == plain
