"""Everything a user runs lowers for GPUs as well, on a machine that has none."""

import jax
import jax.numpy as jnp
import pytest
from jax import export
from random_policy import random_policy
from small_networks import DESIGN

from alx.network import policy
from alx.network.policy import PolicyConfig
from alx.train import step as training
from alx.train.config import TrainConfig
from alx.train.objectives import OBJECTIVES
from alx.train.simulate import Batch

PLATFORMS = ("cpu", "cuda")


def lower(function, *args):
    lowered = export.export(function, platforms=PLATFORMS)(*args)
    assert lowered.platforms == PLATFORMS
    text = lowered.mlir_module()
    assert "lapack" not in text, "LAPACK is for CPUs only"


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_training_step(objective):
    config = TrainConfig(PolicyConfig(1, 2, network=DESIGN), objective=objective, batch=Batch(2, 2, 1))
    mesh = training.make_mesh()
    step = training.jitted_step(config, mesh)
    lower(step, training.initial_state(config, mesh))


def test_nonmyopic_and_myopic_steps_of_the_papers_network():
    for myopic in (False, True):
        config = TrainConfig(PolicyConfig(2, 2), myopic=myopic, batch=Batch(2))
        mesh = training.make_mesh()
        lower(training.jitted_step(config, mesh), training.initial_state(config, mesh))


def test_propose():
    config = PolicyConfig(2, 3)
    params = random_policy(2, 3, "paper").params

    @jax.jit
    def propose(params, x, y, mask):
        return policy.apply(params, config, x, y, mask)

    for batch in ((), (5,)):
        x, y, mask = jnp.ones((2, 4, *batch)), jnp.ones((4, *batch)), jnp.ones((4, *batch), bool)
        lower(propose, params, x, y, mask)
