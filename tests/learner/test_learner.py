"""A learner gives the policy's answers whatever the units, the order, the domain and the interruptions."""

import threading

import hypothesis.strategies as st
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from random_policy import random_policy
from untrained import untrained

import alx
from benchmarks.speed.timing import count_compilations

BOX = [(-5.0, 10.0), (0.0, 15.0)]
finite = st.floats(-1e6, 1e6)
quick = settings(deadline=None, max_examples=15)


def learner(**kwargs) -> alx.Learner:
    kwargs = {"bounds": None if "inputs" in kwargs or "pool" in kwargs else BOX, "budget": 8} | kwargs
    return alx.Learner(untrained(), **kwargs)


def paper(**kwargs) -> alx.Learner:
    return alx.Learner(random_policy(network="paper"), **({"bounds": BOX} | kwargs))


def wave(x: np.ndarray) -> float:
    return float(np.sin(x).sum())


def state(one: alx.Learner) -> list:
    arrays = (one.x, one.y, one.failed, one.pending)
    return [*(array.tolist() for array in arrays), one.budget, one.remaining]


@pytest.mark.parametrize("make", [learner, paper])
def test_the_loop_of_the_readme_is_propose_in_other_units(make):
    one = make(y_mean=3.0, y_std=2.0)
    capacity = one.budget
    history = alx.History.empty(capacity, 2)
    low, high = np.array(BOX).T
    for _ in range(5):
        unit = alx.propose(one.policy, history)
        x = one.ask()
        np.testing.assert_allclose((x - low) / (high - low), unit, atol=1e-4)
        one.tell(x, wave(x))
        history = history.append((x - low) / (high - low), (wave(x) - 3) / 2)
    assert one.remaining == capacity - 5


@pytest.mark.parametrize("make", [learner, paper])
def test_several_at_once_are_those_of_propose_batch(make):
    one = make(y_mean=0.0, y_std=1.0)
    points = np.array([[0.1, 0.2], [0.7, 0.6]], np.float32)
    low, high = np.array(BOX).T
    one.tell(low + points * (high - low), [1.0, -1.0])
    history = alx.History.from_arrays(points, [1.0, -1.0], one.budget)
    batch = alx.propose_batch(one.policy, history, 3)
    np.testing.assert_allclose((one.ask(3) - low) / (high - low), batch, atol=1e-4)


@quick
@given(
    low=st.lists(finite, min_size=2, max_size=2),
    width=st.lists(st.floats(1e-2, 1e6), min_size=2, max_size=2),
    scale=st.floats(1e-3, 1e6),
    shift=finite,
)
def test_the_units_of_inputs_and_outputs_do_not_matter(low, width, scale, shift):
    low, width = np.array(low), np.array(width)
    plain, other = learner(bounds=[(0, 1)] * 2), learner(bounds=np.stack([low, low + width], 1))
    points = np.random.default_rng(0).random((5, 2))
    y = np.sin(7 * points).sum(1)
    plain.tell(points, y)
    other.tell(low + points * width, y * scale + shift)
    # Outputs around a large shift keep only some digits.
    tolerance = 1e-3 + 1e-9 * abs(shift) / scale
    at = np.random.default_rng(1).random((3, 2))
    mean, sd = plain.predict(at)
    mean_other, sd_other = other.predict(low + at * width)
    np.testing.assert_allclose((mean_other - shift) / scale, mean, atol=tolerance)
    np.testing.assert_allclose(sd_other / scale, sd, atol=tolerance)
    np.testing.assert_allclose(np.array(other.error()) / scale, plain.error(), rtol=1e-2)


@quick
@given(order=st.permutations(range(6)), outputs=st.lists(finite, min_size=6, max_size=6))
def test_the_order_of_tells_does_not_matter(order, outputs):
    points = np.random.default_rng(0).uniform(*np.array(BOX).T, (6, 2))
    one, other = learner(), learner()
    one.tell(points, outputs)
    for i in order:
        other.tell(points[i], outputs[i])
    spread = np.ptp(outputs) + 1e-6
    for a, b in zip(one.predict(points), other.predict(points), strict=True):
        np.testing.assert_allclose(a / spread, b / spread, atol=2e-3)


def test_pending_points_are_avoided_and_told_in_any_order():
    one = learner()
    asked = one.ask(n=4)
    assert asked.shape == (4, 2)
    apart = np.linalg.norm((asked[:, None] - asked) / 15, axis=-1) + np.eye(4)
    assert apart.min() > 0.2
    np.testing.assert_array_equal(one.pending, asked)
    for i in (2, 0, 3, 1):
        one.tell(asked[i].astype(np.float32).tolist(), i)
    assert len(one.pending) == 0
    np.testing.assert_array_equal(one.x, asked[[2, 0, 3, 1]])
    assert one.remaining == 4


def test_points_of_ones_own_count_and_leave_the_pending_ones():
    one = learner()
    asked = one.ask()
    one.tell([[1, 2], [3, 4]], [5, 6])
    np.testing.assert_array_equal(one.x, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(one.pending, [asked])
    assert one.remaining == 5
    one.forget()
    assert one.remaining == 6


def test_a_look_ahead_changes_nothing_and_expected_points_are_pending():
    one, other = learner(), learner()
    ahead = one.peek()
    assert len(one.pending) == 0
    np.testing.assert_array_equal(one.ask(), ahead)
    other.expect([ahead, [1, 2]])
    one.expect([1, 2])
    np.testing.assert_array_equal(one.pending, other.pending)
    np.testing.assert_array_equal(one.peek(), other.ask())
    with pytest.raises(ValueError, match="the budget is spent: of 8 points 0 are told and 2 pending"):
        one.expect(np.zeros((7, 2)))
    assert len(one.pending) == 2
    one.expect(np.arange(12).reshape(6, 2))
    assert one.peek() is None


def test_a_repeated_reading_counts_when_it_is_told_as_one():
    one = learner()
    one.tell([1, 2], 3.0)
    one.tell([1, 2], 3.0)
    assert len(one.y) == 1
    one.tell([1, 2], 3.0, repeat=True)
    assert one.y.tolist() == [3, 3]


def test_one_input_may_be_plain_numbers():
    one, other = (learner(bounds=[(0, 9)]) for _ in range(2))
    one.tell([1, 2, 3], [5, 6, 7])
    other.tell([[1], [2]], [5, 6])
    other.tell(3, 7)
    assert state(one) == state(other)
    assert learner(pool=[3.0, 1.0, 2.0]).bounds.tolist() == [[1, 3]]


def test_the_budget_stops_with_a_message_and_can_be_extended():
    one = learner(budget=2)
    one.tell(one.ask(), 0.0)
    one.ask()
    with pytest.raises(ValueError, match=r"budget is spent: of 2 points 1 are told and 1 pending.*extend"):
        one.ask()
    with pytest.raises(ValueError, match="more than the budget"):
        one.tell([0, 0], 1.0)
    one.extend(2)
    assert one.ask(2).shape == (2, 2)
    assert one.remaining == 0


def test_without_a_budget_there_is_no_end_and_room_grows():
    one = learner(budget=None)
    points = np.random.default_rng(0).uniform(*np.array(BOX).T, (33, 2))
    one.tell(points, np.sin(points).sum(1))
    assert one.budget is None
    assert one.remaining == np.inf
    assert one.ask().shape == (2,)
    assert paper().budget == 7  # what that policy was trained for


def test_a_failed_place_is_avoided_and_others_stay_pending():
    one = learner(budget=6)
    asked = one.ask(2)
    one.tell(asked[0], np.nan)
    np.testing.assert_array_equal(one.failed, [asked[0]])
    np.testing.assert_array_equal(one.pending, [asked[1]])
    assert len(one.y) == 0
    assert one.remaining == 4
    one.tell(asked[1], 1.0)
    for x in one.ask(4):
        assert np.linalg.norm((x - asked[0]) / 15) > 0.05 * 2**0.5
    free = learner(budget=6, count_failures=False)
    free.tell([[0, 0], [1, 1], [2, 2]], [1.0, np.nan, 2.0])
    assert free.y.tolist() == [1, 2]
    assert free.remaining == 4
    free.tell([1, 1], 5.0)
    assert len(free.failed) == 0


def test_near_a_failure_is_asked_when_nothing_else_is_left():
    one = learner(pool=[[0.0, 0.0], [0.01, 0.0], [5.0, 5.0], [9.0, 9.0]], budget=None)
    one.tell([0.0, 0.0], np.nan)
    assert sorted(one.ask_row(2)) == [2, 3]
    assert one.ask_row() == 1


def test_set_point_and_actual(caplog):
    one = learner(tolerance=[0.5, 0.1])
    first, second = one.ask(2)
    one.tell(first + np.array([0.3, -0.05]), 1.0)
    np.testing.assert_array_equal(one.x, [first + np.array([0.3, -0.05])])
    np.testing.assert_array_equal(one.pending, [second])
    one.tell(second + np.array([1.0, 0.5]), 2.0, asked=second)
    assert len(one.pending) == 0
    assert not caplog.records
    one.tell([10.2, 3.0], 2.5)
    assert "x1 = 10.2 lies outside its bounds (-5, 10)" in caplog.text
    assert one.x[-1].tolist() == [10.2, 3.0]


def test_whole_numbers_choices_and_constraints():
    inputs = [alx.Real("torque", 0, 300), alx.Integer("gear", 1, 6), alx.Choice("fuel", ["a", "b"])]

    def allowed(x):
        return (x[:, 0].astype(float) < 100) | (x[:, 2] == "b")

    one = learner(inputs=inputs, constraint=allowed, budget=8)
    seen = set()
    for _ in range(3):
        for x in one.ask(2):
            assert allowed(x[None]).all()
            assert isinstance(x[1], int)
            assert 1 <= x[1] <= 6
            seen.add(tuple(x))
            one.tell(x, x[0] * x[1] + (x[2] == "a"))
    assert len(seen) == 6
    assert one.x.dtype == object
    mean, sd = one.predict([50.0, 3, "b"])
    assert np.isfinite([mean, sd]).all()
    assert one.model.lengthscale.shape[1] == 3


def test_a_finite_domain_is_used_up_point_by_point():
    inputs = [alx.Integer("gear", 1, 2), alx.Choice("fuel", ["a", "b", "c"])]
    one = learner(inputs=inputs, constraint=lambda x: x[:, 1] != "c", budget=8)
    asked = [tuple(one.ask()) for _ in range(4)]
    assert sorted(asked) == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
    with pytest.raises(ValueError, match="domain is exhausted: its 4 points are all told or pending"):
        one.ask()


def test_one_query_serves_several_outputs():
    outputs = ["flat", alx.Output("wavy", weight=2.0)]
    one = learner(outputs=outputs, bounds=[(0, 1)])
    x = np.linspace(0, 1, 5)
    one.tell(x, np.stack([0 * x + np.arange(5) * 1e-3, np.sin(30 * x)], 1))
    one.tell(0.33, [np.nan, 0.5])
    assert np.isnan(one.y[-1, 0])
    mean, sd = one.predict([0.1, 0.2, 0.3])
    assert mean.shape == sd.shape == (3, 2)
    assert one.predict(0.2)[0].shape == (2,)
    assert one.error().rmse.shape == (2,)
    assert set(one.model) == {"flat", "wavy"}
    assert one.ask().shape == (1,)
    one.tell(0.9, np.nan)
    np.testing.assert_array_equal(one.failed, [[0.9]])
    alone = learner(bounds=[(0, 1)])
    alone.tell(np.append(x, 0.33), np.append(np.sin(30 * x), 0.5))
    np.testing.assert_allclose(alone.predict([0.1, 0.2, 0.3])[0], mean[:, 1], atol=1e-3)


BAD = {
    "y is infinite": (lambda one: one.tell([0, 0], -np.inf), "y must be finite, or NaN"),
    "y is text": (lambda one: one.tell([0, 0], "high"), "y must be numbers"),
    "y is complex": (lambda one: one.tell([0, 0], 1j), "y must be numbers"),
    "y is too long": (lambda one: one.tell([0, 0], [1, 2]), "one number for each point"),
    "y is missing": (lambda one: one.tell([[0, 0], [1, 1]], 1), "one number for each point"),
    "y is ragged": (lambda one: one.tell([0, 0], [[1], [1, 2]]), "y must be numbers"),
    "x is far outside": (lambda one: one.tell([0, 17], 1), r"inside the bounds, got 17 for \(0, 15\)"),
    "x is NaN": (lambda one: one.tell([0, np.nan], 1), "x must be finite"),
    "x is short": (lambda one: one.tell([0], 1), "2 coordinates"),
    "x is deep": (lambda one: one.tell([[[0, 0]]], 1), "2 coordinates"),
    "the last of several is bad": (lambda one: one.tell([[0, 0], [99, 0]], [1, 2]), "inside the bounds"),
    "asked is not pending": (lambda one: one.tell([0, 0], 1, asked=[0, 0]), "asked is not a pending point"),
    "asked is too short": (
        lambda one: one.tell([[0, 0], [1, 1]], [1, 2], asked=[0, 0]),
        "asked must be one point for each x, got 1 for 2",
    ),
    "forget what was not asked": (lambda one: one.forget([0, 0]), "x is not a pending point"),
    "too many tells": (lambda one: one.tell(np.ones((8, 2)), np.arange(8)), "more than the budget"),
    "too many asks": (lambda one: one.ask(7), "budget is spent"),
    "n is zero": (lambda one: one.ask(0), "whole number of at least 1"),
    "n is a fraction": (lambda one: one.ask(1.5), "whole number of at least 1"),
    "extend by nothing": (lambda one: one.extend(0), "whole number of at least 1"),
    "rows without a pool": (lambda one: one.ask_row(), "needs a learner with a pool"),
    "level is a percentage": (lambda one: one.interval([0, 0], 90), "level must be between 0 and 1, got 90"),
    "predict elsewhere": (lambda one: one.predict([99, 0]), "inside the bounds"),
    "a run without end": (lambda one: one.run(wave, until=7), "until must be a goal"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused_changes_nothing(case):
    act, match = BAD[case]
    one = learner()
    one.tell([1, 2], 3)
    one.ask()
    before = state(one)
    with pytest.raises(ValueError, match=match) as caught:
        act(one)
    assert "\n" not in str(caught.value)
    assert state(one) == before


@pytest.mark.parametrize(
    ("kwargs", "match"),
    [
        ({"bounds": [(1, 0), (0, 1)]}, "low < high"),
        ({"bounds": [(0, np.inf), (0, 1)]}, "finite"),
        ({"bounds": [(0, 1, 2)] * 2}, "pair"),
        ({"bounds": "unit"}, "numbers"),
        ({"bounds": [(1e9, 1e9 + 1e-3), (0, 1)]}, "too close"),
        ({"bounds": [(-1e308, 1e308), (0, 1)]}, "too far apart"),
        ({"bounds": None}, "bounds are needed"),
        ({"bounds": BOX, "inputs": [alx.Real("a", 0, 1)]}, "give one of them"),
        ({"y_std": 0.0}, "y_std must be positive"),
        ({"y_std": np.nan}, "y_std must be finite"),
        ({"y_mean": [1, 2]}, "one number for each output"),
        ({"budget": 0}, "budget must be"),
        ({"tolerance": [1, 2, 3]}, "tolerance must be one number"),
        ({"outputs": "y"}, "outputs must be a list"),
        ({"outputs": ["x1"]}, "different names, got 'x1' twice"),
        ({"constraint": lambda x: x[:, 0] > 99}, "the constraint allows 0 of"),
        ({"pool": [[0, 99]], "bounds": BOX}, "inside the bounds"),
        ({"pool": np.zeros((3, 1)), "bounds": BOX}, "2 coordinates"),
        ({"pool": np.zeros((0, 2))}, "pool"),
        ({"pool": [[0, np.nan]]}, "finite"),
        ({"pool": [[0, 1], [1, 2]], "constraint": lambda x: x[:, 0] > 5}, "allows none of the 2 points"),
    ],
)
def test_a_learner_that_cannot_be_is_refused(kwargs, match):
    with pytest.raises(ValueError, match=match):
        learner(**kwargs)


@pytest.mark.parametrize(
    ("kwargs", "match"),
    [
        ({"bounds": [(0, 1)]}, "for 2 inputs, got bounds for 1"),
        ({"outputs": ["a", "b"]}, "for one output"),
        ({"constraint": lambda x: x[:, 0] < 5}, "without a constraint"),
    ],
)
def test_a_policy_of_the_paper_is_for_what_it_was_trained_for(kwargs, match):
    with pytest.raises(ValueError, match=match):
        paper(**kwargs)


@pytest.mark.parametrize("make", [learner, paper])
def test_a_pool_is_used_up_row_by_row(make):
    pool = np.random.default_rng(2).uniform(-3, 8, (9, 2))
    pool[4] = pool[3]
    one = make(pool=pool, bounds=None, budget=12)
    one.tell(pool[6], 1.0)
    one.tell([0.5, 0.5], 2.0)  # not a row
    rows = [*one.ask_row(3), one.ask_row()]
    np.testing.assert_array_equal(one.pending, pool[rows])
    one.tell(pool[rows], np.arange(4.0))
    point = one.ask()
    assert (pool == point).all(1).any()
    one.forget()
    rows += one.ask_row(4).tolist()
    assert sorted(rows) == [0, 1, 2, 3, 4, 5, 7, 8]
    with pytest.raises(ValueError, match="exhausted: 0"):
        one.ask()


def test_predictions_are_of_the_shape_of_the_question():
    one = learner()
    with pytest.raises(ValueError, match="no model of y before its first measurement"):
        one.predict([0, 0])
    one.tell([0, 0], 5.0)
    mean, sd = one.predict([1, 1])
    assert np.ndim(mean) == 0
    assert sd == np.inf  # one output says nothing of the scale
    assert mean == pytest.approx(5.0)
    assert one.error().rmse == np.inf
    one.tell([3, 3], 6.0)
    mean, sd = one.predict(np.zeros((70, 2)))
    assert mean.shape == sd.shape == (70,)
    assert np.isfinite(sd).all()
    low, high = one.interval(np.zeros((70, 2)), 0.9)
    assert ((low < mean) & (mean < high)).all()
    inner = one.interval([0, 0], 0.5)
    assert low[0] < inner[0] < inner[1] < high[0]


def test_a_model_of_many_points_is_close_and_knows_it():
    one = learner(bounds=[(0, 10)], budget=16)
    while one.remaining:
        x = one.ask()
        one.tell(x, 1000 + 50 * wave(x))
    at = np.linspace(0, 10, 101)
    truth = 1000 + 50 * np.sin(at)
    mean, _ = one.predict(at)
    rmse = np.sqrt(np.mean(np.square(mean - truth)))
    error = one.error()
    assert rmse < 10
    assert error.low < error.rmse < error.high
    assert rmse / 5 < error.rmse < rmse * 5 + 5
    assert one.model.lengthscale[0, 0] < 10
    assert one.model.weight.sum() == pytest.approx(1, abs=1e-3)


def test_an_outlier_is_in_the_model_as_it_was_measured():
    one = learner(bounds=[(0, 1)])
    one.tell(np.linspace(0, 1, 7), [0.1, 0, 0.1, 50, 0.1, 0, 0.1])
    assert one.predict(0.5)[0] > 25


def test_many_learners_share_one_compilation():
    def whole(budget):
        one = learner(budget=budget)
        while one.remaining:
            x = one.ask()
            one.tell(x, wave(x))

    whole(8)
    with count_compilations() as compilations:
        jax.jit(lambda x: x + 1)(np.float32(1))
        assert compilations, "the listener hears nothing"
        compilations.clear()
        for budget in (3, 5, 7):
            whole(budget)
        assert not compilations


def test_threads_do_not_disturb_each_other():
    def work(shift: float, results: dict) -> None:
        one = learner()
        for _ in range(7):
            x = one.ask()
            one.tell(x, wave(x + shift))
        results[shift] = one.x

    alone, together = {}, {}
    for shift in range(3):
        work(shift, alone)
    threads = [threading.Thread(target=work, args=(shift, together)) for shift in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for shift in range(3):
        np.testing.assert_array_equal(alone[shift], together[shift])
