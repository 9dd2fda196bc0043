import contextlib
import tarfile

import numpy as np
import pytest

from benchmarks.evaluation import data, tasks


def unit(points, low, high):
    return (np.atleast_2d(points) - low) / (np.asarray(high) - low)


def test_branin_has_its_published_minima_and_corner():
    minima = unit([[-np.pi, 12.275], [np.pi, 2.275], [9.42478, 2.475]], [-5, 0], [10, 15])
    np.testing.assert_allclose(tasks.branin(minima), 0.397887, atol=1e-5)
    np.testing.assert_allclose(tasks.branin(np.array([[0.0, 0.0]])), 308.12909601160663, rtol=1e-12)


def test_simionescu_has_its_published_minimum():
    points = unit([[0.84852813, -0.84852813], [-0.84852813, 0.84852813]], [-1.25] * 2, [1.25] * 2)
    np.testing.assert_allclose(tasks.simionescu(points), -0.072, atol=1e-8)


def test_townsend_has_its_published_minimum():
    point = unit([2.0052938, 1.1944509], [-2.25, -2.5], [2.25, 1.75])
    np.testing.assert_allclose(tasks.townsend(point), -2.0239884, atol=1e-6)


def test_sin_is_not_standardised():
    task = tasks.TASKS["sin"](None)
    assert task.truth is not None
    np.testing.assert_allclose(
        task.truth(np.array([[0.0], [np.pi / 40], [1.0]])), [0, 1, np.sin(20)], atol=1e-12
    )


@pytest.mark.parametrize("name", ["branin", "simionescu", "townsend", "airline"])
def test_outputs_have_zero_mean_and_unit_variance(name):
    task = tasks.TASKS[name](None)
    assert abs(task.test_y.mean()) < 0.01
    assert abs(task.test_y.std() - 1) < 0.01


@pytest.mark.parametrize("name", ["sin", "branin", "simionescu", "townsend", "airline"])
def test_inputs_fill_the_unit_cube(name):
    x = tasks.TASKS[name](None).test_x
    assert (x >= 0).all()
    assert (x <= 1).all()
    assert np.ptp(x, 0).min() > 0.99


def test_airline_is_series_g():
    x, y = data.airline()
    # Means of the years 1949 to 1960 as published with the series.
    means = [126.6667, 139.6667, 170.1667, 197, 225, 238.9167, 284, 328.25, 368.4167, 381, 428.3333, 476.1667]
    np.testing.assert_allclose(y.reshape(12, 12).mean(1), means, atol=1e-4)
    assert (y[0], y[-1]) == (112, 432)
    np.testing.assert_allclose(x[:, 0], np.arange(144) / 143, atol=1e-12)


LGBB = """## Langley glide-back booster
## a second comment
mach alpha beta lift  drag  pitch  side  yaw  roll
0.0 -5.0 0.0  0.1 0 0 0 0 0
6.0 30.0 0.0  0.7 0 0 0 0 0
3.0 12.5 2.0  9.9 0 0 0 0 0
3.0 12.5 0.0 -0.2 0 0 0 0 0
"""


def test_lgbb_keeps_level_flight_and_scales_speed_and_angle(tmp_path):
    (tmp_path / "lgbb_original.txt").write_text(LGBB)
    task = tasks.TASKS["lgbb"](tmp_path)
    np.testing.assert_allclose(task.test_x, [[0, 0], [1, 1], [0.5, 0.5]])
    lift = np.array([0.1, 0.7, -0.2])
    np.testing.assert_allclose(task.test_y, (lift - lift.mean()) / lift.std())
    assert task.is_pool
    assert task.noise == 0.01


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must have the columns"),
        ("a b\n1 2\n", "must have the columns"),
        (LGBB + "1 2 x\n", "numbers only"),
        (LGBB + "1 2 0 nan 0 0 0 0 0\n", "numbers only"),
    ],
)
def test_lgbb_says_what_is_wrong_with_its_file(text, says):
    with pytest.raises(data.Unavailable, match=says):
        data.parse_lgbb(text)


def test_lgbb_without_its_file_says_what_to_do(tmp_path):
    with pytest.raises(data.Unavailable, match=r"holds no lgbb_original\.txt; unpack it there from https://"):
        data.lgbb(tmp_path)


def test_csv_is_scaled_and_standardised(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("a,target,b\n1,5,10\n3,7,30\n2,9,20\n")
    task = tasks.from_csv(path, "target")
    np.testing.assert_allclose(task.test_x, [[0, 0], [1, 1], [0.5, 0.5]])
    np.testing.assert_allclose(task.test_y, np.array([-1, 0, 1]) * np.sqrt(1.5))
    assert (task.name, task.dim, task.is_pool) == ("mine", 2, True)


@pytest.mark.parametrize(
    ("text", "target", "says"),
    [
        ("", "y", "is empty"),
        ("x,y\n", "y", "is empty"),
        ("x,y\n1,2\n3,4\n", "z", "--target is z, but must be one of the columns"),
        ("x,y\n1,2\n3,4\n", None, "--target is missing"),
        ("x,y\n1,2\nthree,4\n", "y", "data row 2, column x holds 'three'"),
        ("x,y\n1,2\n3,nan\n", "y", "data row 2, column y holds 'nan'"),
        ("x,y\n1,2\n3\n", "y", "data row 2 has 1 cells"),
        ("x,y\n1,2\n1,4\n", "y", "column x never changes"),
        ("x,y\n1,2\n3,1e300\n", "y", "numbers of the column y are too large"),
        ("x,y\n1e-200,2\n2e-200,3\n", "y", "column x are too large or too close together"),
        ('"a\nb",y\n1,2\n3,4\n', "z", "one of the columns of .*: a b, y"),
        ("x,y,y\n1,2,3\n3,4,5\n", "y", "two columns of the same name"),
        ("x,y\n1," + "2" * 200_000, "y", "cannot be read as a text file"),
    ],
)
def test_csv_says_what_is_wrong(tmp_path, text, target, says):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(data.Unavailable, match=says) as caught:
        data.table(path, target)
    assert "\n" not in str(caught.value)


def test_fingerprint_follows_the_data():
    a, b = tasks.TASKS["branin"](None), tasks.TASKS["townsend"](None)
    assert a.fingerprint != b.fingerprint
    assert a.fingerprint == tasks.TASKS["branin"].__wrapped__(None).fingerprint


def test_lgbb_is_fetched_once_into_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def refuse(*_, **__):
        raise OSError

    monkeypatch.setattr(data.pooch, "retrieve", refuse)
    with pytest.raises(data.Unavailable, match=r"could not be fetched \(OSError\); put lgbb_original\.txt"):
        data.lgbb(None)
    (tmp_path / "alx").mkdir()
    (tmp_path / "lgbb_original.txt").write_text(LGBB)
    with tarfile.open(tmp_path / "alx/lgbb.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "lgbb_original.txt", "lgbb/lgbb_original.txt")
    np.testing.assert_array_equal(data.lgbb(None)[1], data.parse_lgbb(LGBB)[1])
    whole = (tmp_path / "alx/lgbb.tar.gz").read_bytes()
    for length in range(len(whole)):
        (tmp_path / "alx/lgbb.tar.gz").write_bytes(whole[:length])
        with contextlib.suppress(data.Unavailable):
            assert len(data.lgbb(None)[1]) == len(data.parse_lgbb(LGBB)[1])


@pytest.mark.parametrize("name", ["branin", "airline"])
def test_units_give_back_what_was_measured(name):
    """Branin's corner and the first month of series G, from the standardised task."""
    task = tasks.TASKS[name](None)
    x, y = task.units.x(task.test_x), task.units.y(task.test_y)
    if name == "branin":
        np.testing.assert_allclose(task.units.x(np.array([[0.0, 0.0], [1.0, 1.0]])), [[-5, 0], [10, 15]])
        np.testing.assert_allclose(y, tasks.branin(task.test_x), rtol=1e-9)
    else:
        assert (x[0, 0], y[0]) == (1949, pytest.approx(112))
        assert (x[-1, 0], y[-1]) == (pytest.approx(1960 + 11 / 12), pytest.approx(432))


def test_a_box_of_ones_own_is_queried_in_its_own_units():
    seen = []

    def function(x):
        seen.append(x)
        return x[:, 0] + 10 * x[:, 1]

    task = tasks.from_box("mine", [(-1, 1), (0, 50)], function, noise=0.2, inputs=("a", "b"), output="c")
    points = np.concatenate(seen)
    assert points.min(0) == pytest.approx([-1, 0], abs=0.1)
    assert points.max(0) == pytest.approx([1, 50], abs=0.1)
    corner = task.truth(np.array([[1.0, 1.0]]))
    assert task.units.y(corner) == pytest.approx(501)
    assert (task.units.names, task.units.output, task.noise, task.is_pool) == (("a", "b"), "c", 0.2, False)
    assert tasks.Units((0,), (1,)).names == ("x",)


def test_a_pool_of_ones_own_fills_the_unit_cube():
    x = np.array([[2.0, 30], [4, 10], [3, 20]])
    task = tasks.from_pool("mine", x, np.array([1.0, 2, 6]))
    np.testing.assert_allclose(task.test_x, [[0, 1], [1, 0], [0.5, 0.5]])
    np.testing.assert_allclose(task.units.x(task.test_x), x)
    np.testing.assert_allclose(task.units.y(task.test_y), [1, 2, 6])
    assert task.is_pool
