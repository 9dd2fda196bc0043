"""The comparison of the fit that training knows with a user's."""

import sys

import jax
import numpy as np
import pytest

import alx
from alx.network.policy import PolicyConfig, init
from benchmarks.studies import fits


def test_the_two_fits_fail_on_the_same_functions():
    config = PolicyConfig(1, 6, network="static")
    policy = alx.Policy(init(jax.random.key(0), config), config)
    user, trained = fits.excesses(policy, "broad", functions=50, seed=0)
    assert user.shape == trained.shape == (50,)
    assert np.corrcoef(user, trained)[0, 1] > 0.7
    assert min(user.mean(), trained.mean()) > 0.05  # not knowing theta costs something


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["dim1-T10", "--functions", "1"], "--functions must be at least 2, got 1"), (["nothing"], "nothing")],
)
def test_what_cannot_be_compared_is_refused(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fits", *arguments])
    assert fits.main() == 2
    assert message in capsys.readouterr().err
