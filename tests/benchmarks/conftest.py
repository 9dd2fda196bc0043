import pytest
from random_policy import random_policy

from alx.network.policy import Policy


@pytest.fixture(scope="session")
def policies() -> dict[int, Policy]:
    """Policies by dimension whose answer depends on their data."""
    return {dim: random_policy(dim, 4, "paper", seed=7) for dim in (1, 2)}
