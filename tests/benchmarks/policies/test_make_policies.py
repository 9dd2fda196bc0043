"""The recipes of the paper's policies, and what their files say."""

import shlex

import numpyro.distributions as dist
import pytest

from alx.io import store
from alx.network.policy import PolicyConfig
from alx.train import cli
from alx.train.config import TrainConfig
from alx.train.prior import LogUniform, Prior
from alx.train.step import largest_chunk
from benchmarks import policies
from benchmarks.policies import make


def prior_of_record(fields: dict) -> Prior:
    """They were recorded with the ends of ranges."""
    scale = LogUniform if fields.pop("log_lengthscale") else dist.Uniform
    noise = fields.pop("noise_sd")
    return Prior(
        kernels=tuple(fields.pop("kernels")),
        variance=dist.Uniform(*fields.pop("variance")),
        lengthscale=scale(*fields.pop("lengthscale")),
        noise_sd=None if noise is None else LogUniform(*noise),
        **fields,
    )


def test_each_policy_has_a_recipe_and_a_card_and_an_unknown_one_is_named():
    assert sorted(make.recipes()) == policies.names()
    for name in policies.names():
        card = policies.find(name).with_suffix(".md").read_text("utf-8")
        assert card.startswith(f"# {name}: ")
        assert f"`python train.py {make.recipes()[name]}`" in card
    with pytest.raises(ValueError, match="no policy 'paper-luck' for comparison; there are paper-dad-dim1"):
        policies.load("paper-luck")


@pytest.mark.parametrize("name", make.recipes())
def test_a_recipe_is_what_the_record_of_the_policy_says(name):
    """Fields that a record lacks are newer than it, and had their default then."""
    asked = cli.parse(shlex.split(make.recipes()[name])).config
    record = store.read_record(policies.find(name))["training"]
    plain = TrainConfig(asked.policy)
    for field in ("objective", "myopic", "steps", "lr", "decay", "clip", "bound", "seed"):
        assert getattr(asked, field) == record.get(field, getattr(plain, field)), field
    assert list(asked.batch) == record["batch"]
    assert largest_chunk(asked) == (record["chunk"] or largest_chunk(plain))
    assert asked.policy == PolicyConfig(**record["policy"])
    assert asked.prior == prior_of_record(record["prior"])
