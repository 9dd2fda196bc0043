"""A learner gives the policy's answers whatever the units, the order and the interruptions."""

import threading

import hypothesis.strategies as st
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from random_policy import random_policy

import alx
from benchmarks.speed.timing import count_compilations

BOX = [(-5.0, 10.0), (0.0, 15.0)]
finite = st.floats(-1e6, 1e6)
quick = settings(deadline=None, max_examples=40)


def learner(**kwargs) -> alx.Learner:
    return alx.Learner(random_policy(), kwargs.pop("bounds", BOX), **kwargs)


def wave(x: np.ndarray) -> float:
    return float(np.sin(x).sum())


def state(one: alx.Learner) -> list:
    return [one.x.tolist(), one.y.tolist(), one.pending.tolist(), one.budget, one.remaining]


def test_the_loop_of_the_readme_is_propose_in_other_units():
    one = learner(y_mean=3.0, y_std=2.0)
    history = alx.History.empty(7, 2)
    low, high = np.array(BOX).T
    for _ in range(7):
        unit = alx.propose(random_policy(), history)
        x = one.ask()
        np.testing.assert_allclose((x - low) / (high - low), unit, atol=1e-5)
        one.tell(x, wave(x))
        history = history.append(unit, (wave(x) - 3) / 2)
    assert one.remaining == 0


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
    for t in range(5):
        x, x_other = plain.ask(), other.ask()
        assert (x_other >= low).all()
        assert (x_other <= low + width).all()
        np.testing.assert_allclose((x_other - low) / width, x, atol=1e-3)
        y = np.sin(7.0 * t)
        plain.tell(x, y)
        other.tell(low + x * width, y * scale + shift)


@quick
@given(order=st.permutations(range(6)), outputs=st.lists(finite, min_size=6, max_size=6))
def test_the_order_of_tells_does_not_matter(order, outputs):
    points = np.random.default_rng(0).uniform(*np.array(BOX).T, (6, 2))
    one, other = learner(), learner()
    one.tell(points, outputs)
    for i in order:
        other.tell(points[i], outputs[i])
    np.testing.assert_allclose(one.ask(), other.ask(), rtol=1e-3, atol=1e-3)


def test_pending_points_are_avoided_and_told_in_any_order():
    one = learner()
    asked = one.ask(n=4)
    assert asked.shape == (4, 2)
    unit = (asked - np.array(BOX)[:, 0]) / 15
    apart = np.linalg.norm(unit[:, None] - unit, axis=-1) + np.eye(4)
    assert apart.min() >= 0.25 * 7**-0.5 - 1e-6
    np.testing.assert_array_equal(one.pending, asked)
    single = learner()
    np.testing.assert_array_equal([single.ask() for _ in range(4)], asked)
    for i in (2, 0, 3, 1):
        one.tell(asked[i].astype(np.float32).tolist(), i)
    assert len(one.pending) == 0
    np.testing.assert_array_equal(one.x, asked[[2, 0, 3, 1]])
    assert one.remaining == 3


def test_telling_the_same_twice_counts_once_and_another_output_is_a_repetition():
    one = learner()
    x = one.ask()
    for y, count in ((1.0, 1), (1.0, 1), (2.0, 2), (2.0, 2)):
        one.tell(x, y)
        assert len(one.y) == count


def test_points_of_ones_own_count_and_leave_the_pending_ones():
    one = learner()
    asked = one.ask()
    one.tell([[1, 2], [3, 4]], [5, 6])
    np.testing.assert_array_equal(one.x, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(one.pending, [asked])
    assert one.remaining == 4
    one.forget()
    assert one.remaining == 5


def test_one_input_may_be_plain_numbers():
    one, other = (alx.Learner(random_policy(dim=1), [(0, 9)]) for _ in range(2))
    one.tell([1, 2, 3], [5, 6, 7])
    other.tell([[1], [2]], [5, 6])
    other.tell(3, 7)
    assert state(one) == state(other)
    assert alx.Learner(random_policy(dim=1), pool=[3.0, 1.0, 2.0]).bounds.tolist() == [[1, 3]]


def test_the_budget_stops_with_a_message_and_can_be_extended():
    one = learner(budget=2)
    one.tell(one.ask(), 0.0)
    one.ask()
    with pytest.raises(ValueError, match=r"budget is spent: of 2 points 1 are told and 1 pending.*extend"):
        one.ask()
    with pytest.raises(ValueError, match="more than the budget"):
        one.tell([0, 0], 1.0)
    one.extend(8)
    assert one.ask(8).shape == (8, 2)
    assert one.remaining == 0


BAD = {
    "y is NaN": (lambda one: one.tell([0, 0], float("nan")), "y must be finite"),
    "y is infinite": (lambda one: one.tell([0, 0], -np.inf), "y must be finite"),
    "y is text": (lambda one: one.tell([0, 0], "high"), "y must be numbers"),
    "y is complex": (lambda one: one.tell([0, 0], 1j), "y must be numbers"),
    "y is too long": (lambda one: one.tell([0, 0], [1, 2]), "one number for each point"),
    "y is missing": (lambda one: one.tell([[0, 0], [1, 1]], 1), "one number for each point"),
    "y is ragged": (lambda one: one.tell([0, 0], [[1], [1, 2]]), "y must be numbers"),
    "x is outside": (lambda one: one.tell([0, 15.1], 1), r"inside the bounds, got 15.1 for \(0, 15\)"),
    "x is NaN": (lambda one: one.tell([0, np.nan], 1), "x must be finite"),
    "x is short": (lambda one: one.tell([0], 1), "2 coordinates"),
    "x is deep": (lambda one: one.tell([[[0, 0]]], 1), "2 coordinates"),
    "the last of several is bad": (lambda one: one.tell([[0, 0], [99, 0]], [1, 2]), "inside the bounds"),
    "too many tells": (lambda one: one.tell(np.ones((6, 2)), np.arange(6)), "more than the budget"),
    "too many asks": (lambda one: one.ask(6), "budget is spent"),
    "n is zero": (lambda one: one.ask(0), "whole number of at least 1"),
    "n is a fraction": (lambda one: one.ask(1.5), "whole number of at least 1"),
    "extend without end": (lambda one: one.extend(10**9), "budget must be at most 4096"),
    "extend by nothing": (lambda one: one.extend(0), "whole number of at least 1"),
    "rows without a pool": (lambda one: one.ask_row(), "needs a learner with a pool"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused_changes_nothing(case):
    act, match = BAD[case]
    one, twin = learner(), learner()
    for each in (one, twin):
        each.tell([1, 2], 3)
        each.ask()
    before = state(one)
    with pytest.raises(ValueError, match=match) as caught:
        act(one)
    assert "\n" not in str(caught.value)
    assert state(one) == before
    np.testing.assert_array_equal(one.ask(), twin.ask())


@pytest.mark.parametrize(
    ("kwargs", "match"),
    [
        ({"bounds": [(1, 0), (0, 1)]}, "low < high"),
        ({"bounds": [(1, 1), (0, 1)]}, "low < high"),
        ({"bounds": [(0, 1)]}, "for 2 inputs, got bounds for 1"),
        ({"bounds": [(0, 1)] * 3}, "for 2 inputs, got bounds for 3"),
        ({"bounds": [(0, np.inf), (0, 1)]}, "finite"),
        ({"bounds": [(0, 1, 2)] * 2}, "pair"),
        ({"bounds": "unit"}, "numbers"),
        ({"bounds": [(1e9, 1e9 + 1e-3), (0, 1)]}, "too close"),
        ({"bounds": [(-1e308, 1e308), (0, 1)]}, "too far apart"),
        ({"bounds": None}, "bounds are needed"),
        ({"y_std": 0.0}, "y_std must be positive"),
        ({"y_std": np.nan}, "y_std must be finite"),
        ({"y_mean": [1, 2]}, "one number"),
        ({"budget": 0}, "budget must be"),
        ({"budget": 10**12}, "budget must be at most 4096 points"),
        ({"pool": [[0, 99]]}, "inside the bounds"),
        ({"pool": np.zeros((3, 1))}, "2 coordinates"),
        ({"pool": np.zeros((0, 2))}, "pool"),
        ({"pool": np.zeros((0, 2)), "bounds": None}, "pool"),
        ({"pool": [[0, np.nan]]}, "finite"),
    ],
)
def test_a_learner_that_cannot_be_is_refused(kwargs, match):
    with pytest.raises(ValueError, match=match):
        learner(**kwargs)


def test_a_pool_is_used_up_row_by_row():
    pool = np.random.default_rng(2).uniform(-3, 8, (9, 2))
    pool[4] = pool[3]
    one = alx.Learner(random_policy(), pool=pool, budget=12)
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


@quick
@given(seed=st.integers(0, 2**32 - 1), with_pool=st.booleans())
def test_an_experiment_goes_on_after_any_interruption(seed, with_pool, tmp_path_factory):
    rng, path = np.random.default_rng(seed), tmp_path_factory.mktemp("learner") / "state"
    kwargs = {"pool": rng.uniform(0, 10, (20, 2)) if with_pool else None, "budget": 10}
    one, other = learner(**kwargs), learner(**kwargs)
    while one.remaining or len(one.pending):
        match rng.choice(["ask", "tell", "own", "forget", "save"], p=[0.35, 0.35, 0.1, 0.02, 0.18]):
            case "ask" if one.remaining:
                n = int(rng.integers(1, one.remaining + 1))
                np.testing.assert_array_equal(one.ask(n), other.ask(n))
            case "tell" if len(one.pending):
                x, y = one.pending[rng.integers(len(one.pending))], rng.normal()
                one.tell(x, y)
                other.tell(x, y)
            case "own" if one.remaining:
                x, y = rng.uniform(0, 10, 2), rng.normal()
                one.tell(x, y)
                other.tell(x, y)
            case "forget":
                one.forget()
                other.forget()
            case "save":
                other.save(path)
                other = alx.Learner.load(path)
        assert state(one) == state(other)
        assert len(one.y) + len(one.pending) + one.remaining == 10
        assert len(one.x) == len(one.y)


def test_a_damaged_state_is_refused(tmp_path):
    path = tmp_path / "state"
    one = learner(y_std=2.0)
    one.tell(one.ask(3), [1, 2, 3])
    one.save(path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        mutant = bytearray(whole)
        mutant[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(mutant[: rng.integers(len(whole))]) if rng.random() < 0.3 else mutant)
        with pytest.raises(ValueError, match=str(path)):
            alx.Learner.load(path)
    alx.save(path, random_policy(), {})
    with pytest.raises(ValueError, match="kind 'policy'"):
        alx.Learner.load(path)


def test_many_learners_share_one_compilation():
    learner()
    with count_compilations() as compilations:
        jax.jit(lambda x: x + 1)(np.float32(1))
        assert compilations, "the listener hears nothing"
        compilations.clear()
        for budget in (3, 5, 7):
            one = learner(budget=budget)
            while one.remaining:
                x = one.ask()
                one.tell(x, wave(x))
        assert not compilations


def test_threads_do_not_disturb_each_other():
    def run(shift: float, results: dict) -> None:
        one = learner()
        for _ in range(7):
            x = one.ask()
            one.tell(x, wave(x + shift))
        results[shift] = one.x

    alone, together = {}, {}
    for shift in range(6):
        run(shift, alone)
    threads = [threading.Thread(target=run, args=(shift, together)) for shift in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for shift in range(6):
        np.testing.assert_array_equal(alone[shift], together[shift])
