import numpy as np
import pytest

from alx.belief import MEAN, believe, likely
from alx.history import History
from alx.propose import propose, propose_from_pool
from benchmarks.evaluation import registry, tasks
from benchmarks.evaluation.methods import Round, baselines, from_function, from_policy, generator


def a_round(task, seeds=(0, 1, 2, 3, 4), filled=3, size=4, available=None):
    rng = np.random.default_rng(0)
    mask = np.broadcast_to(np.arange(size) < filled, (len(seeds), size))
    x, y = rng.random((len(seeds), size, task.dim)), rng.normal(size=(len(seeds), size))
    return Round(task, filled, seeds, x * mask[..., None], y * mask, mask, available)


@pytest.mark.parametrize("name", ["gp-al", "gp-al-variance", "maximin", "sobol", "random"])
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


def test_every_row_is_there_or_named_as_missing():
    """The paper's networks are for one and two inputs, all other rows for any number."""
    for dim in (1, 2, 3):
        methods, missing = registry.available(dim)
        assert {"alx", "learner", "learner-8", "blind", "gp-al-bayes"} <= {*methods}
        assert {*registry.PAPER} <= {*(methods if dim < 3 else missing)}
        assert {*methods, *missing} == {*registry.LABELS}


def test_every_method_has_a_name_and_every_group_its_members():
    assert all(member in registry.LABELS for group in registry.GROUPS.values() for member in group)
    assert registry.names("random,paper,mine", ["mine"]) == ["mine", *registry.GROUPS["paper"], "random"]
    assert {*registry.GROUPS["default"]} == {*registry.LABELS} - {"blind", "botorch", "adaptive"}


def test_maximin_takes_the_point_with_the_emptiest_surroundings():
    """One seed and one pool point at a time, with distances by the Euclidean norm."""
    task = tasks.TASKS["airline"](None)
    free = np.ones((5, 144), bool)
    free[:, 100:] = False
    state = a_round(task, available=free)
    chosen = baselines()["maximin"].choose(state)
    for i in range(5):
        measured = state.x[i][state.mask[i]]
        gaps = [min(np.linalg.norm(place - point) for point in measured) for place in task.test_x[:100]]
        np.testing.assert_array_equal(chosen[i], task.test_x[int(np.argmax(gaps))])


def test_maximin_fills_the_square():
    """From the middle it must go to the corners; then the largest gaps are the middles of the sides."""
    task = tasks.TASKS["branin"](None)
    x, mask = np.zeros((1, 9, 2)), np.zeros((1, 9), bool)
    x[0, 0], mask[0, 0] = 0.5, True
    for n in range(1, 9):
        x[0, n] = baselines()["maximin"].choose(Round(task, n, (0,), x, np.zeros((1, 9)), mask, None))[0]
        mask[0, n] = True
    corners = {(round(a), round(b)) for a, b in x[0, 1:5]}
    assert corners == {(0, 0), (0, 1), (1, 0), (1, 1)}
    sides = np.abs(x[0, 5:] - 0.5)
    np.testing.assert_allclose(np.sort(sides, 1), [[0, 0.5]] * 4, atol=0.06)


def test_any_function_of_the_history_is_a_method():
    """It sees what was measured, padded; what is not in the unit cube is refused by name."""
    task = tasks.TASKS["branin"](None)
    state = a_round(task)
    method = from_function("mean", lambda history: history.x[history.mask].mean(0))
    expected = np.stack([x[mask].mean(0) for x, mask in zip(state.x, state.mask, strict=True)])
    np.testing.assert_allclose(method.choose(state), expected)
    np.testing.assert_allclose(method.prepare(state)(), expected[0])
    for bad in (2.0, [0.5, np.nan], [0.5, 1.1], [0.5, 0.5, 0.5]):
        with pytest.raises(
            ValueError, match="--method mine must return 2 numbers from 0 to 1 on branin, got"
        ):
            from_function("mine", lambda _, bad=bad: bad).choose(state)


def test_untrained_the_general_policy_lowers_the_integrated_variance_most():
    """Bayesian GP AL on a pool by linear algebra: under each likely kernel the mean variance that a label
    would remove, weighted as the belief weighs the kernels."""
    task = tasks.TASKS["airline"](None)
    state = a_round(task, available=np.ones((5, 144), bool))
    chosen = from_policy("gp-al-bayes", registry.untrained()).choose(state)
    pool = task.test_x[:, 0]
    for i in (0, 3):
        x, y = state.x[i][state.mask[i]], state.y[i][state.mask[i]]
        kernels = likely(believe(History.from_arrays(x, y)))
        gain = np.zeros(len(pool))
        for scale, rough, noise, size in zip(
            kernels.inverse_scale, kernels.rough, kernels.noise, kernels.weight * kernels.signal, strict=True
        ):

            def kernel(a, b, scale=float(scale[0]), rough=bool(rough)):
                r = np.abs(a[:, None] - b[None]) * scale
                s = np.sqrt(5) * r
                return MEAN + ((1 + s + s**2 / 3) * np.exp(-s) if rough else np.exp(-(r**2) / 2))

            cross = kernel(x[:, 0], pool)
            inverse = np.linalg.inv(kernel(x[:, 0], x[:, 0]) + float(noise) * np.eye(len(x)))
            covariance = kernel(pool, pool) - cross.T @ inverse @ cross
            gain += float(size) * (covariance**2).mean(1) / (np.diag(covariance) + float(noise))
        assert gain[np.flatnonzero(pool == chosen[i, 0])[0]] == pytest.approx(gain.max(), rel=1e-3)
        assert gain.min() < 0.9 * gain.max(), "the choice matters"
