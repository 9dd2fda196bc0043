"""What telling, forgetting and failing do to the points."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from alx.learner.merge import continues, merge, unite
from alx.learner.state import LearnerState, Reading

ROUNDING = np.full(2, 1e-6)
quick = settings(deadline=None, max_examples=50)


def tell(state: LearnerState, x, y, tolerance=ROUNDING, **kwargs) -> LearnerState:
    asked = kwargs.pop("asked", None)
    reading = Reading(np.array(x, float), np.atleast_1d(np.array(y, float)), **kwargs)
    return state.tell(
        reading._replace(asked=None if asked is None else np.array(asked, float)),
        ROUNDING,
        np.array(tolerance),
    )


def empty() -> LearnerState:
    return LearnerState.empty(2, 1)


def test_the_same_reading_counts_once_unless_it_is_a_repetition():
    state = tell(tell(empty(), [1, 2], 3), [1, 2], 3)
    assert len(state.y) == 1
    assert len(tell(state, [1, 2], 4).y) == 2
    assert len(tell(state, [1, 2], 3, repeat=True).y) == 2
    failed = tell(tell(empty(), [1, 2], np.nan), [1, 2], np.nan)
    assert len(failed.y) == 1


def test_a_measurement_answers_the_nearest_pending_point_within_the_tolerance():
    state = empty().ask(np.array([1.0, 1.0]), 7).ask(np.array([1.4, 1.0]), 8)
    met = tell(state, [1.3, 1.05], 5, tolerance=[0.5, 0.1])
    np.testing.assert_array_equal(met.pending, [[1, 1]])
    np.testing.assert_array_equal(met.x, [[1.3, 1.05]])
    np.testing.assert_array_equal(met.rows, [8])
    other = tell(state, [1.3, 1.2], 5, tolerance=[0.5, 0.1])
    assert len(other.pending) == 2
    exact = tell(state, [1 + 1e-8, 1], 5)
    np.testing.assert_array_equal(exact.x, [[1, 1]])


def test_the_pending_point_may_be_named():
    state = empty().ask(np.array([1.0, 1.0])).ask(np.array([2.0, 1.0]))
    met = tell(state, [1.9, 1.0], 5, asked=[1, 1], tolerance=[0.5, 0.5])
    np.testing.assert_array_equal(met.pending, [[2, 1]])
    np.testing.assert_array_equal(met.x, [[1.9, 1]])
    with pytest.raises(ValueError, match=r"asked is not a pending point: \(9, 9\); pending are 2"):
        tell(state, [1.9, 1.0], 5, asked=[9, 9])


def test_forgetting_one_leaves_the_others():
    state = empty().ask(np.array([1.0, 1.0])).ask(np.array([2.0, 1.0]))
    np.testing.assert_array_equal(state.forget(np.array([1.0, 1.0]), ROUNDING).pending, [[2, 1]])
    with pytest.raises(ValueError, match=r"x is not a pending point: \(3, 1\)"):
        state.forget(np.array([3.0, 1.0]), ROUNDING)


def test_failures_count_by_choice_and_end_with_a_success():
    state = tell(tell(empty(), [1, 2], np.nan).ask(np.array([5.0, 5.0])), [3, 4], 1.0)
    assert (state.spent(True), state.spent(False)) == (3, 2)
    np.testing.assert_array_equal(state.failed(ROUNDING), [[1, 2]])
    np.testing.assert_array_equal(state.pending, [[5, 5]])
    assert state.failed(ROUNDING).shape == (1, 2)
    assert len(tell(state, [1, 2], 0.5).failed(ROUNDING)) == 0


def some(draw, state: LearnerState) -> LearnerState:
    """A state after a few asks, tells and failures."""
    for _ in range(draw(st.integers(0, 6))):
        x = np.array([draw(st.integers(0, 3)), draw(st.integers(0, 3))], float)
        match draw(st.integers(0, 3)):
            case 0:
                state = state.ask(x, draw(st.integers(-1, 5)))
            case 1 if len(state.pending):
                state = tell(state, state.pending[0], draw(st.integers(0, 2)))
            case 2 if len(state.pending):
                state = state.forget(state.pending[-1], ROUNDING)
            case _:
                state = tell(state, x, draw(st.sampled_from([0.0, 1.0, np.nan])), repeat=True)
    return state


@st.composite
def versions(draw):
    base = some(draw, empty())
    return base, some(draw, base), some(draw, base)


def listed(state: LearnerState, start: int = 0) -> list:
    return sorted(map(repr, zip(state.x[start:].tolist(), state.y[start:].tolist(), strict=True)))


@quick
@given(versions())
def test_a_merge_has_what_both_have_told_and_nothing_twice(three):
    base, mine, theirs = three
    n = len(base.y)
    assert continues(mine, base)
    assert continues(theirs, base)
    both = merge(base, mine, theirs)
    assert continues(both, theirs)
    assert listed(both) == sorted(listed(base) + listed(mine, n) + listed(theirs, n))
    assert len(both.x) == len(both.y) == len(both.rows) == len(both.extra)
    assert len(both.pending) == len(both.pending_rows)

    def points(state):
        return sorted(map(repr, state.pending.tolist()))

    assert points(merge(base, mine, base)) == points(mine)
    assert points(merge(base, base, theirs)) == points(theirs)
    assert points(both) == points(merge(base, theirs, mine))


@quick
@given(versions())
def test_a_union_counts_common_points_once(three):
    base, mine, theirs = three
    assert listed(unite(base, theirs)) == listed(theirs)
    assert listed(unite(mine, empty())) == listed(mine)
    assert continues(unite(mine, theirs), theirs)
    assert set(listed(unite(mine, theirs))) == set(listed(mine)) | set(listed(theirs))


def test_a_file_that_lost_points_does_not_continue():
    state = tell(tell(empty(), [1, 2], 3), [2, 2], 4)
    assert not continues(tell(empty(), [1, 2], 3), state)
    assert not continues(tell(tell(empty(), [1, 2], 3), [2, 2], 5), state)
