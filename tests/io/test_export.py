"""Exported policies give the same numbers in a process that has no alx."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_policy import random_policy

import alx
from alx.io.export import to_jax, to_onnx

# What a user without alx writes; the first lines make sure that there is none.
STRANGER = """
import sys
sys.modules["alx"] = sys.modules["flax"] = None
import jax.export, numpy as np, onnxruntime, pathlib
for network in ("anchors", "paper"):
    call = jax.export.deserialize(pathlib.Path(network + ".jaxexport").read_bytes()).call
    session = onnxruntime.InferenceSession(network + ".onnx", providers=["CPUExecutionProvider"])
    data = np.load("data.npz")
    for x, y, mask in zip(data["x"], data["y"], data["mask"]):
        print(*np.asarray(call(x, y, mask)), *session.run(["x_next"], {"x": x, "y": y, "mask": mask})[0])
"""


def histories() -> list[alx.History]:
    rng = np.random.default_rng(0)
    return [alx.History.from_arrays(rng.random((n, 2)), rng.normal(size=n), 7) for n in (0, 1, 4, 7)]


def test_artefacts_match_in_a_process_without_alx(tmp_path):
    expected = []
    for network in ("anchors", "paper"):
        policy = random_policy(network=network)
        (tmp_path / f"{network}.jaxexport").write_bytes(to_jax(policy))
        (tmp_path / f"{network}.onnx").write_bytes(to_onnx(policy))
        for history in histories():
            expected.append(np.tile(alx.propose(policy, history), 2))
    x, y, mask = (np.stack(arrays) for arrays in zip(*histories(), strict=True))
    np.savez(tmp_path / "data.npz", x=x.astype(np.float32), y=y.astype(np.float32), mask=mask)
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


def test_the_jax_artefact_is_for_cpu_and_cuda_and_takes_any_capacity():
    exported = jax.export.deserialize(bytearray(to_jax(random_policy(), capacity=3)))
    assert exported.platforms == ("cpu", "cuda")
    assert [aval.shape for aval in exported.in_avals] == [(3, 2), (3,), (3,)]
    with pytest.raises(ValueError, match="capacity must be at least 1"):
        to_jax(random_policy(), capacity=0)


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
    ],
)
def test_operations_mean_the_same_in_onnx(function):
    onnxruntime = pytest.importorskip("onnxruntime")
    from alx.io.onnx import translate

    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    model = translate(jax.make_jaxpr(function)(x), ["x"], "y")
    (found,) = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    expected = np.asarray(function(x))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_an_operation_without_a_rule_is_named():
    from alx.io.onnx import translate

    with pytest.raises(ValueError, match="'sort'"):
        translate(jax.make_jaxpr(jnp.sort)(np.ones(3, np.float32)), ["x"], "y")
