import numpy as np
import pytest

from alx.history import History
from alx.propose import propose, propose_from_pool
from benchmarks.evaluation import tasks
from benchmarks.evaluation.methods import Round, baselines, from_policy, generator, shipped_methods


def a_round(task, seeds=(0, 1, 2, 3, 4), filled=3, size=4, available=None):
    rng = np.random.default_rng(0)
    mask = np.broadcast_to(np.arange(size) < filled, (len(seeds), size))
    x, y = rng.random((len(seeds), size, task.dim)), rng.normal(size=(len(seeds), size))
    return Round(task, filled, seeds, x * mask[..., None], y * mask, mask, available)


@pytest.mark.parametrize("name", ["gp-al", "gp-al-variance", "sobol", "random"])
def test_a_choice_depends_on_its_own_seed_only(name):
    method = baselines()[name]
    task = tasks.TASKS["branin"](None)
    state = a_round(task, (4, 5, 6, 7, 8))
    order = [2, 0, 4, 3, 1]
    shuffled = (array[order] for array in (state.x, state.y, state.mask))
    together = method.choose(state)
    again = method.choose(Round(task, 3, [state.seeds[i] for i in order], *shuffled, None))
    np.testing.assert_allclose(again, together[order], atol=1e-12)
    assert len(np.unique(together, axis=0)) == 5
    assert (together >= 0).all()
    assert (together <= 1).all()


def test_streams_of_different_purpose_differ():
    streams = [
        ("sin", 0, "noise"),
        ("sin", 1, "noise"),
        ("sin", 0, "start"),
        ("branin", 0, "noise"),
        ("sin", 0, "a", 1),
    ]
    assert len({generator(*stream).random() for stream in streams}) == len(streams)
    assert generator("sin", 0, "noise").random() == generator("sin", 0, "noise").random()


def test_random_takes_every_free_point_of_a_pool_equally_often():
    task = tasks.TASKS["airline"](None)
    available = np.zeros((3000, 144), bool)
    available[:, [3, 50, 140]] = True
    chosen = baselines()["random"].choose(a_round(task, range(3000), available=available))
    values, counts = np.unique(chosen, return_counts=True)
    np.testing.assert_allclose(values, task.test_x[[3, 50, 140], 0])
    assert counts.min() > 900  # 1000 expected, standard deviation 26


def test_sobol_fills_the_square():
    """The first 16 points of a scrambled Sobol sequence: one in each cell of a 4 x 4 grid."""
    task = tasks.TASKS["branin"](None)
    points = np.stack(
        [baselines()["sobol"].choose(a_round(task, (7,), step, 17))[0] for step in range(1, 17)]
    )
    assert len(np.unique((points * 4).astype(int), axis=0)) == 16


def test_a_policy_chooses_what_propose_says(policies):
    state = a_round(tasks.TASKS["branin"](None))
    method = from_policy("mine", policies[2])
    for i in range(3):
        one = History(*(np.asarray(a[i]) for a in (state.x, state.y, state.mask)))
        np.testing.assert_allclose(method.choose(state)[i], propose(policies[2], one), atol=1e-5)


def test_a_timed_call_on_a_pool_is_propose_from_pool(policies):
    task = tasks.TASKS["airline"](None)
    state = a_round(task, (0,), available=np.ones((1, 144), bool))
    one = History(*(np.asarray(a[0]) for a in (state.x, state.y, state.mask)))
    expected = propose_from_pool(policies[1], one, task.test_x, np.ones(144, bool))
    assert from_policy("mine", policies[1]).prepare(state)() == expected


def test_blind_does_not_see_y(policies):
    task = tasks.TASKS["branin"](None)
    state = a_round(task)
    other = Round(task, 3, state.seeds, state.x, -5 * state.y, state.mask, None)
    sighted, blind = from_policy("a", policies[2]), from_policy("b", policies[2], blind=True)
    assert not np.allclose(sighted.choose(state), sighted.choose(other))
    np.testing.assert_array_equal(blind.choose(state), blind.choose(other))
    assert sighted.fingerprint != blind.fingerprint


def test_every_policy_row_is_shipped_or_named_as_missing(monkeypatch, policies):
    files = {"dim2-T20": policies[2], "paper-dad-dim2-T20": policies[2], "dim1-T10": policies[1]}
    monkeypatch.setattr("benchmarks.evaluation.methods.shipped", lambda: sorted(files))
    monkeypatch.setattr("benchmarks.evaluation.methods.load", files.__getitem__)
    methods, missing = shipped_methods(2)
    assert set(methods) == {"alx", "blind", "paper-dad"}
    assert missing == ["static", "paper-regularized-entropy", "paper-entropy", "paper-myopic"]
