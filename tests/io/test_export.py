"""Exported policies give the same numbers in a process that has no alx."""

import functools
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_policy import random_policy

import alx
from alx.io.export import to_jax, to_onnx
from alx.io.onnx import translate
from alx.propose import exportable

CAPACITY = 8
onnxruntime = pytest.importorskip("onnxruntime")

# What a user without alx writes; the first lines make sure that there is none.
STRANGER = """
import sys
sys.modules["alx"] = sys.modules["flax"] = None
import jax.export, numpy as np, onnxruntime, pathlib
data = np.load("data.npz")
for network in ("paper", "judge"):
    call = jax.export.deserialize(pathlib.Path(network + ".jaxexport").read_bytes()).call
    session = onnxruntime.InferenceSession(network + ".onnx", providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    for row in zip(*(data[name] for name in names)):
        feed = {name: np.asarray(value) for name, value in zip(names, row)}
        print(*np.asarray(call(*row)), *session.run(["x_next"], feed)[0])
"""


def session(model: bytes):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the work is small, and threads that wait for it take turns with it
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@functools.cache
def artefacts(network: str = "judge", dim: int = 2) -> tuple[bytes, bytes]:
    """The policy for jax.export and in ONNX."""
    policy = alx.load() if network == "general" else random_policy(network=network)
    function, arguments = exportable(policy, dim, CAPACITY)
    return to_jax(function, arguments), to_onnx(function, arguments)


def histories(number: int, dim: int) -> dict[str, np.ndarray]:
    """Random ones, points in any rows, and numbers that mean nothing in the others."""
    rng = np.random.default_rng(dim)
    count = np.arange(number) % (CAPACITY + 1)
    return {
        "x": rng.random((number, CAPACITY, dim), np.float32),
        "y": rng.normal(size=(number, CAPACITY)).astype(np.float32),
        "mask": rng.permuted(np.arange(CAPACITY) < count[:, None], axis=1),
        "remaining": rng.integers(0, 30, number).astype(np.int32),
    }


def test_artefacts_match_in_a_process_without_alx(tmp_path):
    data, expected = histories(5, 2), []
    np.savez(tmp_path / "data.npz", **data)
    for network in ("paper", "judge"):
        for_jax, in_onnx = artefacts(network)
        (tmp_path / f"{network}.jaxexport").write_bytes(for_jax)
        (tmp_path / f"{network}.onnx").write_bytes(in_onnx)
        for x, y, mask, remaining in zip(*data.values(), strict=True):
            history = alx.History(*map(jnp.asarray, (x, y, mask)))
            expected.append(np.tile(alx.propose(random_policy(network=network), history, remaining), 2))
    run = subprocess.run(
        [sys.executable, "-c", STRANGER],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found = np.array([line.split() for line in run.stdout.splitlines()], float)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_general_policy_proposes_the_same_on_random_histories(dim):
    for_jax, in_onnx = artefacts("general", dim)
    call, model = jax.jit(jax.export.deserialize(bytearray(for_jax)).call), session(in_onnx)
    policy, off = alx.load(), []
    for row in zip(*histories(200, dim).values(), strict=True):
        *points, remaining = map(jnp.asarray, row)
        expected = alx.propose(policy, alx.History(*points), remaining)
        feed = {
            name: np.asarray(value) for name, value in zip(("x", "y", "mask", "remaining"), row, strict=True)
        }
        off.append([np.abs(x - expected).max() for x in (call(*row), model.run(None, feed)[0])])
    assert np.max(off) < 1e-3


def test_the_jax_artefact_is_for_cpu_and_cuda_and_takes_what_it_was_made_for():
    exported = jax.export.deserialize(bytearray(artefacts()[0]))
    assert exported.platforms == ("cpu", "cuda")
    assert [aval.shape for aval in exported.in_avals] == [(8, 2), (8,), (8,), ()]


def test_a_network_of_the_paper_has_its_own_shapes_and_no_remaining():
    arguments = exportable(random_policy(dim=3, T=6, network="paper"), None, None)[1]
    assert {name: each.shape for name, each in arguments.items()} == {"x": (7, 3), "y": (7,), "mask": (7,)}


@pytest.mark.parametrize(
    ("network", "dim", "capacity", "message"),
    [
        ("judge", None, 8, "dim must be given: the general policy takes any, a file of it only one"),
        ("judge", 2, None, "capacity must be given: the general policy"),
        ("judge", 0, 8, "dim must be at least 1, got 0"),
        ("judge", 2, 0, "capacity must be at least 1, got 0"),
        ("paper", 3, None, "the policy is for 2 inputs, got a history with 3"),
        ("paper", None, 0, "capacity must be at least 1, got 0"),
    ],
)
def test_shapes_that_make_no_sense_are_named(network, dim, capacity, message):
    with pytest.raises(ValueError, match=message):
        alx.export(random_policy(network=network), "never.onnx", dim, capacity)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.einsum("ijk,ljk->kli", x, x),
        lambda x: jax.lax.dynamic_slice(x, (0, (x.sum() * 0).astype(int) + 9, 1), (2, 2, 2)),
        lambda x: x[:, ::2, 1:3],
        lambda x: jnp.concatenate(jnp.split(x, 2, axis=2)[::-1], axis=1),
        lambda x: jnp.where((x > 0) & (x != 1), jax.nn.softplus(x), -(x**3)),
        lambda x: jax.nn.softmax(x, 1).transpose(2, 0, 1)[:, None],
        lambda x: jax.lax.rem(jnp.clip(jax.lax.erf(x) * jax.nn.sigmoid(x), -0.1, 0.4), x * 0 + 0.3),
        lambda x: (x > 0).all(0) | (x > 2).any(0),
        lambda x: x[:, jnp.asarray([2, 0])],
        lambda x: x[jnp.argmax(x[:, 0, 0]), jnp.argmin(x[0, :, 1])],
        lambda x: x[..., jax.lax.top_k(x[0, 0], 2)[1]],
        lambda x: jnp.diagonal(x[:, :, :3], axis1=1, axis2=2),
        lambda x: jax.lax.top_k(jnp.stack([x[..., 0], x[..., 0]], 1), 3)[1],
        lambda x: jax.lax.fori_loop(0, 3, lambda j, z: z.at[j].set(z[j] * j + z.min(0)), x[0]),
        lambda x: x + jnp.ones((5, 2, 3, 4)) * jnp.arange(4.0),
    ],
)
def test_operations_mean_the_same_in_onnx(function):
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    model = translate(jax.make_jaxpr(function)(x), ["x"], "y")
    (found,) = session(model).run(None, {"x": x})
    expected = np.asarray(function(x))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (jnp.sort, "it uses 'sort'"),
        (lambda x: jax.lax.scan(lambda c, row: (c + row, None), 0.0, x)[0], "it uses a 'scan' over arrays"),
        (lambda x: x.at[jnp.argmax(x)].set(1), "'scatter' other than of one row at an index that is known"),
        (lambda x: x.at[jnp.asarray(7)].set(1), "'scatter' other than"),
        (lambda x: x.at[jnp.argmax(x)].get(mode="fill"), "'gather' other than of whole slices"),
    ],
)
def test_an_operation_without_a_rule_is_named(function, message):
    with pytest.raises(ValueError, match=message):
        translate(jax.make_jaxpr(function)(np.ones(3, np.float32)), ["x"], "y")


def test_a_constant_is_stored_once_and_without_repetitions():
    table = np.broadcast_to(np.arange(300, dtype=np.float32)[:, None], (300, 300))
    model = translate(jax.make_jaxpr(lambda x: (x + table) * table + x.sum() * 0)(table), ["x"], "y")
    assert len(model) < 3000
    np.testing.assert_allclose(session(model).run(None, {"x": table.copy()})[0], 2 * table**2)
