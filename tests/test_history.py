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


@pytest.mark.parametrize(("capacity", "dim"), [(0, 1), (1, 0), (-3, 2)])
def test_empty_needs_room(capacity, dim):
    with pytest.raises(ValueError, match=f"capacity={capacity}"):
        History.empty(capacity, dim)
