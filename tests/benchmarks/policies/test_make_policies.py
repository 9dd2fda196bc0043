"""The recipes of the shipped policies, and their cards."""

import dataclasses
import shlex

import pytest
import tyro

import train
from alx.io import store
from alx.network.policy import PolicyConfig
from alx.train import recipes, run
from alx.train.prior import PRIORS, Prior
from alx.train.step import TrainConfig, largest_chunk
from benchmarks.policies import make as make_policies


def parse(arguments: str) -> train.Arguments:
    return tyro.cli(train.Arguments, args=shlex.split(arguments), config=(tyro.conf.FlagCreatePairsOff,))


def test_there_is_a_recipe_for_each_shipped_policy():
    assert sorted(make_policies.recipes()) == store.shipped()


@pytest.mark.parametrize("name", make_policies.recipes())
def test_a_recipe_is_what_the_record_of_the_policy_says(name):
    """Fields that a record lacks are newer than it, and had their default then."""
    asked = recipes.config(parse(make_policies.recipes()[name].arguments).request)
    record = store.read_record(name)["training"]
    plain = TrainConfig(asked.policy)
    for field in ("objective", "warmup", "myopic", "steps", "lr", "decay", "clip", "bound", "seed"):
        assert getattr(asked, field) == record.get(field, getattr(plain, field)), field
    assert list(asked.batch) == record["batch"]
    assert largest_chunk(asked) == (record["chunk"] or largest_chunk(plain))
    assert asked.policy == PolicyConfig(**record["policy"])
    assert asked.prior == Prior(**run._tuples(record["prior"]))


def test_a_prior_is_described_by_the_one_it_is_most_like():
    assert make_policies.describe(PRIORS["wide"]) == "`wide`"
    changed = dataclasses.replace(PRIORS["unit"], lengthscale=(0.08, 3.0))
    assert make_policies.describe(changed) == "`unit`, lengthscale (0.08, 3.0)"
