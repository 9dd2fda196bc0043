"""Numbers that must not change while code moves: losses of the paper's network, and proposals of policies.

They were printed by the code of the first release. The tolerance is what compilers differ by.
"""

import numpy as np
import pytest

import alx
from alx.network.policy import PolicyConfig
from alx.train.config import TrainConfig
from alx.train.prior import PRIORS
from alx.train.simulate import Batch
from alx.train.step import initial_state, make_mesh, make_step
from benchmarks import policies

LOSSES = {
    ("dad", "paper", "paper"): [-1.541764, -1.260951, -1.027628],
    ("entropy", "paper", "paper"): [-2.254291, -2.882743, -3.486666],
    ("regularized-entropy", "paper", "paper"): [-0.774685, -0.81054, -0.66272],
}
PROPOSALS = {
    "paper-dad-dim1-T10": [[0.997601], [0.747317], [0.000207]],
    "paper-dad-dim2-T20": [[0.105526, 0.323392], [0.985379, 0.998384], [1.0, 1.0]],
    "paper-entropy-dim1-T10": [[0.998937], [0.728242], [2.8e-05]],
    "paper-entropy-dim2-T20": [[0.129032, 0.004556], [0.53951, 0.005303], [0.014154, 0.192469]],
    "paper-myopic-dim1-T10": [[0.008266], [2.9e-05], [0.0]],
    "paper-myopic-dim2-T20": [[0.277859, 0.990284], [0.004249, 0.990765], [0.0, 0.999985]],
    "paper-regularized-entropy-dim1-T10": [[0.991642], [0.710182], [8.2e-05]],
    "paper-regularized-entropy-dim2-T20": [[0.087191, 0.022316], [0.946042, 0.058824], [0.054467, 0.990871]],
}


def losses(objective: str, network: str, prior_name: str) -> list[float]:
    config = TrainConfig(
        policy=PolicyConfig(dim=1, T=3, network=network),
        prior=PRIORS[prior_name],
        objective=objective,
        batch=Batch(2, 2, 2),
        lr=1e-2,
        seed=7,
    )
    mesh = make_mesh()
    step, state = make_step(config, mesh), initial_state(config, mesh)
    found = []
    for _ in range(3):
        state, metrics = step(state)
        found.append(float(metrics["loss"]))
    return found


def proposals(name: str) -> list[list[float]]:
    policy = policies.load(name)
    dim, capacity = policy.config.dim, policy.config.capacity
    random = np.random.default_rng(5)
    x, y = random.uniform(size=(capacity, dim)), random.normal(size=capacity)
    rows = [alx.History.from_arrays(x[:n], y[:n], capacity) for n in (1, 4, capacity)]
    return [np.asarray(alx.propose(policy, history)).tolist() for history in rows]


@pytest.mark.parametrize("case", LOSSES, ids="-".join)
def test_losses(case):
    np.testing.assert_allclose(losses(*case), LOSSES[case], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", PROPOSALS)
def test_proposals(name):
    np.testing.assert_allclose(proposals(name), PROPOSALS[name], atol=1e-4)
