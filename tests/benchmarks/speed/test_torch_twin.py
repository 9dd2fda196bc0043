import numpy as np
import pytest
from random_policy import random_policy

import alx

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("n", [1, 10, 21])
def test_the_twin_gives_the_same_numbers(dim, n):
    from benchmarks.speed.torch_twin import from_policy

    policy = random_policy(dim, T=20, network="paper")
    rng = np.random.default_rng(n)
    x, y = rng.random((n, dim)).astype(np.float32), rng.normal(size=n).astype(np.float32)
    with torch.no_grad():
        (answer,) = from_policy(policy)(torch.from_numpy(x)[None], torch.from_numpy(y)[None]).numpy()
    np.testing.assert_allclose(answer, alx.propose(policy, alx.History.from_arrays(x, y, 21)), atol=1e-5)


def test_the_twin_has_the_parameters_of_the_paper():
    from benchmarks.speed.torch_twin import Twin

    for dim, count in ((1, 47_105), (2, 48_130)):
        assert sum(p.numel() for p in Twin(dim).parameters()) == count


def test_only_the_network_of_the_paper_has_a_twin():
    from benchmarks.speed.torch_twin import from_policy

    with pytest.raises(ValueError, match="judge"):
        from_policy(random_policy(network="judge"))
