"""Selection by simulation: the score, the table and what it refuses."""

import sys

import jax
import numpy as np
import pytest

import alx
from alx.network.policy import PolicyConfig, init
from benchmarks.studies import selection, simulated


def test_scores_are_ratios_to_sobol_of_the_rmse_after_a_fit(monkeypatch):
    """With the fit replaced by the largest x of the queries, so that the ratio is known."""
    config = PolicyConfig(1, 3, network="static")
    policy = alx.Policy(init(jax.random.key(0), config), config)

    def rmse_refitted(problem, x):
        assert problem.prior.standardised
        return np.asarray(x).max((0, 1))

    monkeypatch.setattr(simulated, "rmse_refitted", rmse_refitted)
    found = selection.scores({"own": policy}, "paper", functions=4, seed=3)
    problem = simulated.draw(alx.train.prior.PRIORS["paper"], config, 4, 3)
    sobol = np.asarray(simulated.sobol_queries(problem)).max((0, 1))
    own = np.asarray(simulated.policy_queries(problem, policy.params, config)).max((0, 1))
    np.testing.assert_allclose(found["own"], np.log(own / sobol), rtol=1e-5)
    assert set(found) == {"own", "GP AL, theta known"}


def test_the_table_has_the_best_first_and_paired_standard_errors():
    columns = {
        "one": {"a": np.array([0.1, 0.3]), "b": np.array([0.0, 0.0])},
        "two": {"a": np.array([0.2, 0.2]), "b": np.array([-0.1, 0.1])},
    }
    _, _, best, other = selection.table(columns).splitlines()
    assert best == "| b | +0.0000 | +0.0000 | +0.0000 | 0.0000 ± 0.0000 |"
    # Differences (0.1, 0.3) and (0.3, 0.1): a variance of 0.02 each, 0.01 of each mean.
    assert other == "| a | +0.2000 | +0.2000 | +0.2000 | 0.2000 ± 0.0707 |"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dim1-T10", "dim2-T20"], "policies must share dim, T and n_init, got 2 kinds"),
        (["dim1-T10", "--functions", "1"], "--functions must be at least 2, got 1"),
        (["nothing"], "nothing"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["selection", *arguments])
    assert selection.main() == 2
    assert message in capsys.readouterr().err
