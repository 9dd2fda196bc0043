"""The clients of examples/clients do their five measurements."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parents[2] / "examples/clients"


def run(words, server):
    done = subprocess.run(
        [*words, f"http://127.0.0.1:{server.port}"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (one,) = server("GET", "")["experiments"]
    assert (one["told"], one["remaining"]) == (5, 0)


def test_python(server):
    run([sys.executable, CLIENTS / "client.py"], server)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl(server):
    run(["sh", CLIENTS / "client.sh"], server)


def test_c(server, tmp_path):
    compiler = shutil.which("cc")
    flags = ["-std=c99", "-Wall", "-Werror", "-o", tmp_path / "client", "-lcurl", "-lm"]
    made = compiler and subprocess.run(
        [compiler, CLIENTS / "client.c", *flags], capture_output=True, text=True
    )
    if not made or "curl/curl.h" in made.stderr:
        pytest.skip("no C compiler, or no libcurl to compile with (Debian: libcurl4-openssl-dev)")
    assert made.returncode == 0, made.stderr
    run([tmp_path / "client"], server)
