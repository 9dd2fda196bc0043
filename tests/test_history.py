import jax
import jax.numpy as jnp
import numpy as np
import pytest

from alx import History


def test_appending_one_by_one_is_from_arrays():
    x, y = np.random.default_rng(0).random((3, 2)), np.arange(3.0)
    history = History.empty(5, 2)
    for point, output in zip(x, y, strict=True):
        history = history.append(point, output)
    jax.tree.map(np.testing.assert_array_equal, history, History.from_arrays(x, y, 5))
    assert history.count == 3
    assert history.capacity == 5


def test_append_takes_the_first_free_row_wherever_it_is():
    mask = jnp.array([True, False, True])
    history = History(jnp.zeros((3, 1)), jnp.zeros(3), mask).append([0.5], 7.0)
    np.testing.assert_array_equal(history.y, [0, 7, 0])
    assert history.mask.all()


def test_a_full_history_raises_and_under_jit_stays_as_it_is():
    full = History.from_arrays([[0.1], [0.2]], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"full.*2"):
        full.append([0.3], 3.0)
    after = jax.jit(History.append)(full, jnp.array([0.3]), 3.0)
    jax.tree.map(np.testing.assert_array_equal, after, full)


@pytest.mark.parametrize(
    ("x", "y", "capacity"),
    [([[0.1]], [1.0, 2.0], None), ([0.1], [1.0], None), ([[0.1], [0.2]], [1.0, 2.0], 1)],
)
def test_arrays_that_do_not_fit_are_refused(x, y, capacity):
    with pytest.raises(ValueError, match="got"):
        History.from_arrays(x, y, capacity)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([[0.1, 0.2], [0.3, 1.5]], [0.0, 1.0], "x must lie in the unit cube, got 1.5 in row 1"),
        ([[0.1, -0.2]], [0.0], "x must lie in the unit cube, got -0.2 in row 0"),
        ([[0.1, np.nan]], [0.0], "x must lie in the unit cube, got nan in row 0"),
        ([[0.1], [0.2], [0.3]], [0.0, 1.0, np.nan], "y must be finite, got nan in row 2"),
        ([[0.1]], [np.inf], "y must be finite, got inf in row 0"),
    ],
)
def test_points_that_mean_nothing_are_refused(x, y, message):
    with pytest.raises(ValueError, match=message):
        History.from_arrays(x, y)


def test_under_jit_points_are_taken_as_they_are():
    x, y = np.float32([[0.1, 7.0]]), np.float32([np.nan])
    history = jax.jit(History.from_arrays)(x, y)
    np.testing.assert_array_equal(history.x, x)
    np.testing.assert_array_equal(history.y, y)


@pytest.mark.parametrize(("capacity", "dim"), [(0, 1), (1, 0), (-3, 2)])
def test_empty_needs_room(capacity, dim):
    with pytest.raises(ValueError, match=f"capacity={capacity}"):
        History.empty(capacity, dim)
