"""Servers that are stopped at the end of a test."""

import pytest
from live import Live

from alx.serve import store


@pytest.fixture(autouse=True)
def _compile_once(monkeypatch):
    """What requests need is compiled by them, and what several threads compile at once is compiled twice."""
    monkeypatch.setattr("alx.serve.warm.WARM", dict.fromkeys(store.WARM, lambda spec: None))


@pytest.fixture
def serve(tmp_path):
    """Starts a server on one directory, again and again if wanted."""
    started = []

    def start(**options):
        started.append(Live(tmp_path / "experiments", **options))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def server(serve):
    return serve()
