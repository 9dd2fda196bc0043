"""The PyTorch training step computes what alx computes."""

import jax
import numpy as np
import pytest

from alx.network import policy
from alx.network.policy import Policy, PolicyConfig
from alx.train import rollout, simulate
from alx.train.objectives import OBJECTIVES
from alx.train.prior import PRIORS
from alx.train.simulate import Batch

torch = pytest.importorskip("torch")

from benchmarks.speed import torch_training  # noqa: E402
from benchmarks.speed.torch_twin import from_policy  # noqa: E402


@pytest.mark.parametrize("objective", ["entropy", "regularized-entropy"])
@pytest.mark.parametrize(("dim", "T", "n_init"), [(1, 4, 1), (2, 5, 2)])
def test_losses_and_gradients_equal(objective, dim, T, n_init):
    config, prior, batch = PolicyConfig(dim, T, n_init, "paper"), PRIORS["paper"], Batch(2, 3, 2)
    params = policy.init(jax.random.key(0), config)
    experiment = simulate.simulate(*jax.random.split(jax.random.key(1)), prior, config, batch)

    @jax.jit
    @jax.value_and_grad
    def expected(params):
        trajectory = rollout.nonmyopic(params, config, prior, experiment)
        return OBJECTIVES[objective](jax.random.key(2), prior, experiment, trajectory).mean()

    twin = from_policy(Policy(params, config))
    value = torch_training.loss(twin, torch_training.from_alx(experiment, n_init), objective)
    value.backward()
    loss, gradient = expected(params)
    np.testing.assert_allclose(value.item(), loss, rtol=1e-4)
    for mine, theirs in (
        (gradient["decoder"]["outer"]["kernel"], twin.decoder[2].weight),
        (gradient["first"]["query"]["kernel"], twin.blocks[0].query.weight),
        (gradient["encoder"]["inner"]["kernel"], twin.encoder[0].weight),
    ):
        scale = np.abs(mine).max()
        np.testing.assert_allclose(theirs.grad, mine, atol=2e-3 * scale)


def test_training_step_draws_and_learns():
    torch.manual_seed(0)
    config = PolicyConfig(2, 3, network="paper")
    twin = from_policy(Policy(policy.init(jax.random.key(0), config), config))
    optimizer = torch.optim.RAdam(twin.parameters(), lr=1e-2)
    before = twin.decoder[2].weight.detach().clone()
    for _ in range(8):  # RAdam starts slowly
        value = torch_training.train_step(
            twin, optimizer, Batch(4, 2, 2), 2, 3, "regularized-entropy", Batch(2, 2, 2)
        )
    assert np.isfinite(value)
    assert not torch.equal(before, twin.decoder[2].weight)
