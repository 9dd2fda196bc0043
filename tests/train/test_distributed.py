"""Two real processes on the loopback interface train to the numbers of one."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from alx.train.run import read_metrics

ROOT = Path(__file__).parents[2]
# Two chunks of 64 experiments, one for each device.
ARGUMENTS = (
    "--dim 1 --T 2 --network small_networks:Design --prior paper --objective entropy-v2 --batch 128 1 1 "
    "--steps 52"
)


def start(out: Path, *more: str, arguments: str = ARGUMENTS) -> subprocess.Popen:
    command = [sys.executable, str(ROOT / "train.py"), *arguments.split(), "--out", str(out), *more]
    environment = os.environ | {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
        "XDG_CACHE_HOME": str(out.parent / "cache"),
    }
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


def finish(process: subprocess.Popen) -> str:
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_two(out: Path, arguments: str = ARGUMENTS) -> list[subprocess.Popen]:
    together = ("--coordinator", f"127.0.0.1:{free_port()}", "--num-processes", "2", "--devices", "1")
    return [start(out, *together, "--process-id", str(i), arguments=arguments) for i in (0, 1)]


def test_two_processes_end_when_they_are_told_to(tmp_path):
    """What a scheduler sends; jax would catch it."""
    both = start_two(tmp_path / "run", ARGUMENTS.replace("--steps 52", "--steps 1000000"))
    try:
        deadline = time.monotonic() + 300
        while len(read_metrics(tmp_path / "run")) < 1 and time.monotonic() < deadline:
            time.sleep(0.2)
        for process in both:
            process.terminate()
        assert all(process.wait(60) != 0 for process in both)
    finally:
        for process in both:
            process.kill()
            process.communicate()
    assert read_metrics(tmp_path / "run")


def test_two_processes_train_to_the_numbers_of_one(tmp_path):
    alone = start(tmp_path / "one", "--devices", "2")
    both = start_two(tmp_path / "two")
    try:
        finish(alone)
        first, second = map(finish, both)
    finally:
        for process in (alone, *both):
            process.kill()
    assert "error" in first or "rmse" in first.lower()
    assert "rmse" not in second.lower(), "only the first process reports"
    one, two = (read_metrics(tmp_path / name) for name in ("one", "two"))
    assert [epoch["step"] for epoch in two] == [50, 52], "only the first process writes"
    for expected, actual in zip(one, two, strict=True):
        np.testing.assert_allclose(actual["loss"], expected["loss"], rtol=1e-4)
        np.testing.assert_allclose(actual["rmse"], expected["rmse"], rtol=1e-3)
    expected, actual = (load_file(tmp_path / name / "policy.safetensors") for name in ("one", "two"))
    for name, weights in expected.items():
        np.testing.assert_allclose(actual[name], weights, atol=1e-3)
