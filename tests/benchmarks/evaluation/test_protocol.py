import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tinygp import GaussianProcess, kernels, transforms

from benchmarks.evaluation import gp_model as model
from benchmarks.evaluation import protocol, tasks
from benchmarks.evaluation.methods import Method, baselines, from_policy

BUDGET = 3


@pytest.fixture(scope="module")
def sin_rows(policies):
    methods = [*baselines().values(), from_policy("mine", policies[1])]
    return {m.name: protocol.run(tasks.TASKS["sin"](None), m, [0, 1, 2, 3, 4], BUDGET) for m in methods}


def test_seeds_are_paired(sin_rows):
    """All methods of a seed start at the same point and meet the same noise; different seeds do not."""
    truth = tasks.TASKS["sin"](None).truth
    noise = {m: [np.array(r["y"]) - truth(np.array(r["x"])) for r in rows] for m, rows in sin_rows.items()}
    starts = {m: [r["x"][0] for r in rows] for m, rows in sin_rows.items()}
    for name in sin_rows:
        assert starts[name] == starts["random"]
        np.testing.assert_allclose(noise[name], noise["random"], atol=1e-9)
    assert len({x[0] for x in starts["random"]}) == 5
    assert 0.05 < np.std(noise["random"]) < 0.15


def test_rows_have_a_curve_and_a_time_for_each_query(sin_rows):
    for rows in sin_rows.values():
        for row in rows:
            assert len(row["rmse"]) == len(row["x"]) == len(row["y"]) == 1 + BUDGET
            assert len(row["query_seconds"]) == BUDGET
            assert min(row["query_seconds"]) > 0
            assert row["compile_seconds"] >= 0


def test_the_first_seeds_are_timed(sin_rows):
    method = baselines()["random"]
    late, early = (protocol.run(tasks.TASKS["sin"](None), method, seeds, BUDGET) for seeds in ([5, 6], [4]))
    assert [row["query_seconds"] for row in late] == [[], []]
    assert len(early[0]["query_seconds"]) == BUDGET


@pytest.mark.parametrize("name", ["gp-al", "random"])
def test_a_row_does_not_depend_on_the_other_seeds(sin_rows, name):
    method = baselines()[name]
    alone = protocol.run(tasks.TASKS["sin"](None), method, [0, 3], BUDGET)[1]
    for key in ("rmse", "x", "y", "fingerprint"):
        assert alone[key] == sin_rows[name][3][key]


def test_rmse_is_that_of_the_fitted_gp(sin_rows):
    """The last value of a curve against tinygp with the fitted theta."""
    task = tasks.TASKS["sin"](None)
    row = sin_rows["random"][0]
    x, y = np.array(row["x"]), np.array(row["y"])
    theta = model.fit_many(x[None], y[None], np.ones((1, len(y)), bool))[0][0]
    with jax.enable_x64(True):
        kernel = jnp.exp(theta[0]) * transforms.Linear(jnp.exp(-theta[1:-1]), kernels.ExpSquared())
        process = GaussianProcess(kernel, x, diag=jnp.exp(theta[-1]))
        mean = np.asarray(process.predict(y, task.test_x))
    assert row["rmse"][-1] == pytest.approx(np.sqrt(np.mean((mean - task.test_y) ** 2)), rel=1e-4)


def test_a_pool_gives_its_own_values_and_no_point_twice(policies):
    task = tasks.TASKS["airline"](None)
    for method in (*baselines().values(), from_policy("mine", policies[1])):
        for row in protocol.run(task, method, [0, 1], BUDGET):
            index = [np.flatnonzero(task.test_x[:, 0] == x[0])[0] for x in row["x"]]
            assert len(set(index)) == 1 + BUDGET
            np.testing.assert_array_equal(row["y"], task.test_y[index])


def test_a_pool_gives_the_nearest_free_point():
    task = tasks.TASKS["airline"](None)
    stubborn = Method("stubborn", lambda s: np.full((len(s.seeds), 1), 0.5), lambda s: lambda: None)
    row = protocol.run(task, stubborn, [0], BUDGET)[0]
    index = np.rint(np.array(row["x"])[1:, 0] * 143).astype(int)
    assert sorted(index) in ([70, 71, 72], [71, 72, 73])
    assert set(index[:2]) == {71, 72}


def test_a_fingerprint_tells_experiments_apart(policies):
    sin, branin = tasks.TASKS["sin"](None), tasks.TASKS["branin"](None)
    random, sobol = baselines()["random"], baselines()["sobol"]
    mine, other = from_policy("random", policies[1]), from_policy("random", policies[2])
    variants = [
        (sin, random, 4),
        (sin, random, 5),
        (branin, random, 4),
        (sin, sobol, 4),
        (sin, mine, 4),
        (sin, other, 4),
    ]
    assert len({protocol.fingerprint(*variant) for variant in variants}) == len(variants)
