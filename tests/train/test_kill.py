"""train.py as users start it: a kill loses nothing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from alx.train import run

ROOT = Path(__file__).parents[2]
QUICK = "--dim 1 --T 2 --network small_networks:Design --prior paper --batch 4 1 1 --devices 2"


def start(*arguments, cache: Path) -> subprocess.Popen:
    """Start train.py where its home, its temporary and its working directory are one that is empty."""
    command = [sys.executable, str(ROOT / "train.py"), *map(str, arguments)]
    elsewhere = cache.with_name("elsewhere")
    elsewhere.mkdir(exist_ok=True)
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    environment |= {
        "HOME": str(elsewhere),
        "TMPDIR": str(elsewhere),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
    }
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
    assert f'import alx, small_networks; policy = alx.load("{whole}/policy.safetensors")' in out
    assert out.startswith("compiling")
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
    assert [epoch["step"] for epoch in run.read_metrics(killed)] == list(range(50, 301, 50))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "elsewhere", "killed", "whole"]
    assert not list((tmp_path / "elsewhere").iterdir()), "it wrote outside of the run and the cache"
