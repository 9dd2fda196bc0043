"""A kill of a run and two processes on one file; the commands do many, in processes of their own."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (("run-kills", "--count", "1"), "1 kills"),
        (("two-tellers", "--points", "5"), "10 told, 0 processes with an error"),
    ],
)
def test_nothing_is_lost(part, said):
    command = [sys.executable, "-m", "benchmarks.reliability", *part]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-500:]
    assert said in ran.stdout
    assert ran.stdout.endswith("lost, crashed or wrong: 0 in all\n")
