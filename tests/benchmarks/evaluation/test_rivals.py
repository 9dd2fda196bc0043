"""Other packages' methods against small implementations of our own; skipped where the package is missing."""

import numpy as np
import pytest
from scipy.spatial import Delaunay

from benchmarks.evaluation import rivals, tasks
from benchmarks.evaluation.data import Unavailable
from benchmarks.evaluation.methods import Round


def a_round(task, x, y, available=None):
    x, y = np.asarray(x, float)[None], np.asarray(y, float)[None]
    return Round(task, y.shape[1], (0,), x, y, np.ones(y.shape, bool), available)


def test_a_package_that_is_missing_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(rivals.importlib, "import_module", missing)
    with pytest.raises(Unavailable, match="the package botorch is not installed; pip install botorch"):
        rivals.botorch()
    with pytest.raises(Unavailable, match="the package adaptive is not installed; pip install adaptive"):
        rivals.adaptive(1)


@pytest.fixture
def adaptive():
    return pytest.importorskip("adaptive")


@pytest.fixture
def botorch():
    return pytest.importorskip("botorch")


def test_adaptive_first_asks_for_the_ends_and_then_halves_the_longest_piece(adaptive):
    """The length of a piece is that of the line it draws, both axes scaled to one."""
    task = tasks.TASKS["sin"](None)
    x, y = [0.37], [float(np.sin(20 * 0.37))]
    for n in range(1, 9):
        asked = rivals.adaptive(1).choose(a_round(task, np.array(x)[:, None], y))[0, 0]
        if n <= 2:
            assert asked in (0, 1)
        else:
            order = np.argsort(x)
            at, height = np.array(x)[order], np.array(y)[order]
            length = np.hypot(np.diff(at), np.diff(height) / np.ptp(height))
            middles = (at[1:] + at[:-1]) / 2
            assert length[np.argmin(np.abs(middles - asked))] == pytest.approx(length.max())
            assert np.abs(middles - asked).min() < 1e-12
        x.append(float(asked))
        y.append(float(np.sin(20 * asked)))


def test_adaptive_on_the_square_begins_with_its_corners(adaptive):
    task = tasks.TASKS["branin"](None)
    x, y = [[0.4, 0.3]], [0.5]
    for n in range(4):
        x.append(rivals.adaptive(2).choose(a_round(task, x, y))[0].tolist())
        y.append(float(n))
    assert {tuple(point) for point in x[1:]} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    inner = rivals.adaptive(2).choose(a_round(task, x, y))[0]
    assert ((inner >= 0) & (inner <= 1)).all()
    with pytest.raises(Unavailable, match="one or two inputs"):
        rivals.adaptive(3)


def test_adaptive_halves_the_largest_triangle_where_the_function_is_flat(adaptive):
    """By SciPy's triangulation: in its middle or on its longest side."""
    x = np.concatenate([[[0, 0], [0, 1], [1, 0], [1, 1]], np.random.default_rng(3).random((6, 2))])
    state = a_round(tasks.TASKS["branin"](None), x, np.zeros(10))
    asked = rivals.adaptive(2).choose(state)[0]
    triangles = x[Delaunay(x).simplices]
    one, two = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    area = np.abs(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0])
    assert np.sort(area)[-1] > 1.05 * np.sort(area)[-2], "no tie"
    corners = triangles[area.argmax()]
    sides = np.roll(corners, 1, 0) - corners
    longest = (corners + sides / 2)[np.linalg.norm(sides, axis=1).argmax()]
    assert min(np.linalg.norm(asked - place) for place in (longest, corners.mean(0))) < 1e-9


@pytest.mark.filterwarnings("ignore")  # of torch and linear_operator, about themselves
def test_botorch_takes_what_lowers_the_variance_most(botorch):
    """The mean posterior variance with each point of a pool added, by plain linear algebra."""
    import torch

    task = tasks.TASKS["airline"](None)
    rows = [3, 30, 75, 90]
    free = np.ones((1, 144), bool)
    free[0, rows] = False
    x, y = task.test_x[rows], task.test_y[rows]
    chosen = rivals.botorch().choose(a_round(task, x, y, free))[0]
    acquisition, model = rivals.integrated_variance(torch.as_tensor(x), torch.as_tensor(y))
    length = model.covar_module.lengthscale.item()
    noise, grid = model.likelihood.noise.item(), acquisition.mc_points.numpy()

    def kernel(a, b):
        return np.exp(-0.5 * np.square(a[:, None, 0] - b[None, :, 0]) / length**2)

    def variance(points):
        gram = kernel(points, points) + noise * np.eye(len(points))
        cross = kernel(grid, points)
        return np.mean(1 - np.einsum("gn,gn->g", cross @ np.linalg.inv(gram), cross))

    remaining = [variance(np.concatenate([x, place[None]])) for place in task.test_x]
    best = np.where(free[0], remaining, np.inf)
    assert remaining[int(np.flatnonzero(task.test_x[:, 0] == chosen[0])[0])] == pytest.approx(
        best.min(), rel=1e-6
    )
