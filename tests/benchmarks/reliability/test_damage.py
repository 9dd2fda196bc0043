"""A seeded part of what ``python -m benchmarks.reliability damage`` does in full."""

import pytest

from benchmarks.reliability import damage


@pytest.mark.parametrize("name", damage.KINDS)
def test_no_truncation_and_no_flipped_bit_gets_through(name, tmp_path):
    kind = damage.KINDS[name]
    tally = damage.truncations(kind, tmp_path) + damage.flips(kind, tmp_path, 400, seed=0)
    assert tally.keys() <= {"refused", "unharmed" if kind.content else "read"}
    assert tally["refused"] > 100


def test_no_kind_of_file_passes_for_another(tmp_path):
    tally = damage.swaps(tmp_path)
    assert tally == {"refused": 18, "read": 2}, "the two readers of tables read each other's"
