"""The recipes of the shipped policies, and their cards."""

import dataclasses
import shlex

import numpyro.distributions as dist
import pytest

from alx.io import store
from alx.network.policy import PolicyConfig
from alx.train import cli
from alx.train.config import TrainConfig
from alx.train.prior import PRIORS, LogUniform, Prior
from alx.train.step import largest_chunk
from benchmarks.policies import make as make_policies


def prior_of_record(fields: dict) -> Prior:
    """The shipped policies were recorded with the ends of ranges."""
    scale = LogUniform if fields.pop("log_lengthscale") else dist.Uniform
    noise = fields.pop("noise_sd")
    return Prior(
        kernels=tuple(fields.pop("kernels")),
        variance=dist.Uniform(*fields.pop("variance")),
        lengthscale=scale(*fields.pop("lengthscale")),
        noise_sd=None if noise is None else LogUniform(*noise),
        **fields,
    )


def test_there_is_a_recipe_for_each_shipped_policy_but_the_general_one():
    assert sorted([*make_policies.recipes(), store.GENERAL]) == store.shipped()


@pytest.mark.parametrize("name", make_policies.recipes())
def test_a_recipe_is_what_the_record_of_the_policy_says(name):
    """Fields that a record lacks are newer than it, and had their default then."""
    asked = cli.parse(shlex.split(make_policies.recipes()[name].arguments)).config
    record = store.read_record(name)["training"]
    plain = TrainConfig(asked.policy)
    for field in ("objective", "warmup", "myopic", "steps", "lr", "decay", "clip", "bound", "seed"):
        assert getattr(asked, field) == record.get(field, getattr(plain, field)), field
    assert list(asked.batch) == record["batch"]
    assert largest_chunk(asked) == (record["chunk"] or largest_chunk(plain))
    assert asked.policy == PolicyConfig(**record["policy"])
    assert asked.prior == prior_of_record(record["prior"])


def test_a_prior_is_described_by_the_one_it_is_most_like():
    assert make_policies.describe(PRIORS["wide"]) == "`wide`"
    changed = dataclasses.replace(PRIORS["unit"], lengthscale=LogUniform(0.08, 3.0))
    assert make_policies.describe(changed) == "`unit`, lengthscale LogUniform 0.08 3"
