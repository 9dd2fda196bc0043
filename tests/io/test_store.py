"""A policy file gives the very policy that was saved, or a ValueError of one sentence that names the file."""

import json
import os
import re
from pathlib import Path

import jax
import numpy as np
import pytest
import safetensors.numpy
from random_policy import random_policy
from small_networks import SUMS

import alx
from alx.io import files, store


def assert_same(a: alx.Policy, b: alx.Policy) -> None:
    assert a.config == b.config
    assert jax.tree.structure(a) == jax.tree.structure(b)
    jax.tree.map(np.testing.assert_array_equal, a, b)


def assert_refused(path: Path, match: str | None = None) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        alx.load(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "some.safetensors"
    alx.save(path, random_policy(network=SUMS), {"seed": 3, "metrics": {"loss": [1.5, float("nan")]}})
    return path


@pytest.mark.parametrize("network", ["judge", "paper", SUMS])
def test_what_was_saved_is_loaded(network, tmp_path):
    policy = random_policy(network=network)
    alx.save(tmp_path / "p", policy, {"seed": 1})
    assert_same(alx.load(tmp_path / "p"), policy)
    assert_same(alx.load(str(tmp_path / "p")), policy)


def test_the_record_comes_back_with_config_and_versions(saved):
    record = store.read_record(saved)
    assert record["seed"] == 3
    assert record["metrics"]["loss"][0] == 1.5
    assert record["config"] == {"dim": 2, "T": 6, "n_init": 1, "network": SUMS}
    assert record["versions"]["alx"] == alx.__version__


def test_the_same_policy_gives_the_same_bytes(tmp_path, saved):
    alx.save(tmp_path / "again", alx.load(saved), {"seed": 3, "metrics": {"loss": [1.5, float("nan")]}})
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_any_reader_of_safetensors_can_open_it(saved):
    tensors = safetensors.numpy.load_file(saved)
    np.testing.assert_array_equal(tensors["outer.bias"], random_policy(network=SUMS).params["outer"]["bias"])


def test_every_truncation_is_refused(saved, tmp_path):
    whole, path = saved.read_bytes(), tmp_path / "cut"
    rng = np.random.default_rng(0)
    lengths = {*range(64), *rng.integers(64, len(whole), 100).tolist(), len(whole) - 1}
    for length in lengths:
        path.write_bytes(whole[:length])
        assert_refused(path)
    path.write_bytes(whole + b"\0")
    assert_refused(path, "bytes where")


def test_flipped_bits_never_give_another_policy(saved, tmp_path):
    whole, path, policy = saved.read_bytes(), tmp_path / "flipped", random_policy(network=SUMS)
    rng = np.random.default_rng(1)
    header = 8 + int.from_bytes(whole[:8], "little")
    places = [*rng.integers(0, header, 300).tolist(), *rng.integers(header, len(whole), 100).tolist()]
    for place in places:
        mutant = bytearray(whole)
        mutant[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(mutant)
        try:
            survivor = alx.load(path)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017 (a load that succeeds is right as well)
        else:
            assert_same(survivor, policy)


def rewrite(path: Path, change) -> None:
    """Change the metadata of a file and sign it anew, as a forger would."""
    with safetensors.safe_open(path, "np") as file:
        meta = json.loads(file.metadata()["alx"])
    tensors = dict(safetensors.numpy.load_file(path))
    meta.pop("sha256")
    change(meta, tensors)
    meta["sha256"] = files.digest(meta, tensors)
    path.write_bytes(safetensors.numpy.save(tensors, {"alx": json.dumps(meta)}))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda meta, _: meta["config"].update(dim=3), "of type F32 and shape"),
        (lambda meta, _: meta["config"].update(dim=10**9), "at most 256"),
        (lambda meta, _: meta["config"].update(network="paper"), "arrays are not those"),
        (lambda meta, _: meta["config"].update(network=["x"]), "network must be"),
        (lambda meta, _: meta["config"].update(network="this:it"), "its module imported"),
        (lambda meta, _: meta["config"].update(network="os:system"), "a class of nnx.Module"),
        (lambda meta, _: meta["config"].update(colour=1), "other fields"),
        (lambda meta, _: meta.update(config=7), "lacks a config"),
        (lambda meta, _: meta.update(format=99), "format is 99"),
        (lambda meta, _: meta.update(kind="recipe"), "'recipe'"),
        (lambda meta, _: meta.pop("record"), "training record"),
        (lambda meta, _: meta.pop("versions"), "lacks the versions"),
        (lambda meta, _: meta["config"].update(T=10**6), "at most 4096"),
        (lambda _, tensors: tensors.update(extra=np.zeros(1)), "arrays are not those"),
        (lambda _, tensors: tensors.update({"outer.kernel": np.zeros((1, 1))}), "of type F32 and shape"),
        (lambda _, tensors: tensors["outer.bias"].__setitem__(0, np.nan), "not finite"),
    ],
)
def test_plausible_but_wrong_files_are_refused(saved, change, match):
    rewrite(saved, change)
    assert_refused(saved, match)


def test_arrays_that_overlap_are_refused(saved):
    whole = saved.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    header["outer.kernel"]["data_offsets"] = [0, 4 * 2 * 8]
    text = json.dumps(header).encode()
    saved.write_bytes(len(text).to_bytes(8, "little") + text + whole[8 + length :])
    assert_refused(saved, "overlap or leave gaps")


def test_an_honest_rewrite_is_accepted(saved):
    rewrite(saved, lambda meta, _: meta["record"].update(note="mine"))
    assert store.read_record(saved)["note"] == "mine"


def frame(header: bytes, data: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + data


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x1,x2,y\n0.1,0.2,0.3\n",
        (2**60).to_bytes(8, "little") + b"{}",
        frame(b"[" * 100_000),
        frame(b'{"a":' * 100_000),
        frame(b"[1, 2]"),
        frame(b"\xff\xfe\x00"),
        frame(b'{"__metadata__": {"alx": 3}}'),
        frame(b'{"__metadata__": {"alx": "[]"}}'),
        frame(b'{"__metadata__": {"alx": "{}"}, "w": null}'),
        frame(b'{"__metadata__": {"alx": "' + b"9" * 6000 + b'"}}'),
    ],
)
def test_foreign_files_are_refused(tmp_path, content):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    assert_refused(path)


def test_what_is_no_file_is_refused(tmp_path):
    assert_refused(tmp_path, "no such file")
    os.mkfifo(tmp_path / "pipe")
    assert_refused(tmp_path / "pipe", "no such file")
    assert_refused(tmp_path / "absent", "shipped are")


def test_a_failed_save_keeps_the_old_file_and_leaves_nothing_behind(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        alx.save(saved, random_policy(network=SUMS), {})
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_an_endless_record_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="too long"):
        alx.save(tmp_path / "p", random_policy(network=SUMS), {"log": "x" * (2 << 20)})
    assert not list(tmp_path.iterdir())


def test_every_shipped_policy_loads_and_has_a_card():
    for name in alx.shipped():
        policy = alx.load(name)
        assert store.card(name).startswith("#")
        dim = getattr(policy.config, "dim", 2)
        answer = np.asarray(alx.propose(policy, alx.History.empty(3, dim)))
        assert np.isfinite(answer).all()
    with pytest.raises(ValueError, match="not a shipped policy"):
        store.card("no such")


def test_the_version_is_that_of_the_project():
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert re.search(r'^version = "(.+)"', project, re.M).group(1) == alx.__version__
