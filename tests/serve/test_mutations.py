"""A small part of ``python -m benchmarks.reliability.serve_mutations``."""

import asyncio

from benchmarks.reliability import serve_mutations


def test_mutated_requests_are_refused_or_served(server, tmp_path):
    tally = asyncio.run(serve_mutations.mutate(server.port, 300, seed=1))
    assert not [what for what in serve_mutations.BAD if tally[what]], tally
    assert tally["accepted"] > 30
    assert tally["refused"] > 100
    assert [each.name for each in tmp_path.iterdir()] == ["experiments"]
    for each in server.directory.iterdir():
        assert len(each.name) == 16
