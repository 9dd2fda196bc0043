"""Schemathesis sends what the OpenAPI description allows and forbids, and compares the answers with it."""

import importlib.util
import json
import re
import subprocess
import sys

import pytest

from alx.serve import openapi
from alx.serve.app import ENDPOINTS

# `events` has no end, and whether a body of the right form is accepted depends on the experiment, too.
OPTIONS = "--exclude-operation-id events --exclude-checks positive_data_acceptance --max-examples 5 --seed 1"
OPTIONS += " --generation-deterministic --request-timeout 300 --no-color"


def test_the_description_is_served(server):
    status, _, text = server.raw("GET", "/v1/openapi.json")
    assert (status, json.loads(text)) == (200, openapi.document(ENDPOINTS))


@pytest.mark.skipif(
    importlib.util.find_spec("schemathesis") is None,
    reason="schemathesis is not installed: the server is not tested against its description",
)
def test_the_server_does_what_its_description_says(server, tmp_path):
    path = server.new(budget=24)
    for x in (0.2, 0.7):
        server("POST", path + "/tell", {"x": [x], "y": x})
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(f'[parameters]\n"path.id" = "{path[1:]}"\n')
    where = f"http://127.0.0.1:{server.port}/v1/openapi.json"
    # A process of its own: its plugin for pytest does not know each version of that.
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "--config-file", settings, "run", where, *OPTIONS.split()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.findall(r"(\d+) generated", done.stdout)[0]) > 500
    state = server("GET", path)
    assert state["told"] > 2
    assert len(server("GET", "")["experiments"]) > 1
