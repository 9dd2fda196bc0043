"""No point that was told is lost: not by a crash, not by damage, not by another process."""

import multiprocessing
import os

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from random_policy import random_policy
from untrained import untrained

import alx

BOX = [(0.0, 10.0)] * 2
INPUTS = [alx.Real("torque", 0, 300, "Nm"), alx.Integer("gear", 1, 6), alx.Choice("fuel", ["a", "b"])]


def learner(**kwargs) -> alx.Learner:
    return alx.Learner(untrained(), **({"bounds": BOX, "budget": 8} | kwargs))


def state(one: alx.Learner) -> list:
    arrays = (one.x, one.y, one.failed, one.pending, one.bounds)
    settings = (one.budget, one.remaining, one.inputs, one.outputs, one.count_failures)
    return [*(repr(array.tolist()) for array in arrays), *settings]


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), with_pool=st.booleans())
def test_an_experiment_goes_on_after_any_interruption(seed, with_pool, tmp_path_factory):
    rng, path = np.random.default_rng(seed), tmp_path_factory.mktemp("learner") / "state"
    kwargs = {"pool": np.random.default_rng(0).uniform(0, 10, (20, 2)) if with_pool else None}
    one, other = learner(**kwargs), learner(**kwargs)
    for _ in range(20):
        match rng.choice(
            ["ask", "tell", "own", "fail", "forget", "save"], p=[0.3, 0.3, 0.1, 0.05, 0.05, 0.2]
        ):
            case "ask" if one.remaining and len(one.pending) < 4:
                a, b = one.ask(), other.ask()
                # A belief built at once and one built row by row differ in the last digits.
                np.testing.assert_allclose(a, b, atol=0.5)
                other.forget(b)
                other._state = other._state.ask(one._state.pending[-1], int(one._state.pending_rows[-1]))
            case "tell" | "fail" as kind if len(one.pending):
                x, y = one.pending[rng.integers(len(one.pending))], rng.normal() if kind == "tell" else np.nan
                one.tell(x, y)
                other.tell(x, y)
            case "own" if one.remaining:
                x, y = rng.uniform(0, 10, 2), rng.normal()
                one.tell(x, y)
                other.tell(x, y)
            case "forget" if len(one.pending):
                x = one.pending[0]
                one.forget(x)
                other.forget(x)
            case "save":
                other.save(path)
                other = alx.Learner.load(path)
        assert state(one) == state(other)


def test_everything_comes_back(tmp_path):
    path = tmp_path / "bench.alx"

    def warm(x):
        return x[:, 0].astype(float) < 200

    one = alx.Learner(
        untrained(),
        inputs=INPUTS,
        outputs=["nox", alx.Output("co", "ppm", 2.0)],
        constraint=warm,
        y_mean=[1.0, 2.0],
        tolerance=[1.0, 0, 0],
        count_failures=False,
    )
    csv = tmp_path / "old.csv"
    csv.write_text("torque [Nm];gear;fuel;nox;co [ppm];who\n1,5;2;a;3;4;Kim\n2,5;2;b;;;Ada\n9,5;3;b;1;;Eve\n")
    one.from_csv(csv)
    assert one.failed.tolist() == [[2.5, 2, "b"]]
    assert one.to_dataframe()["who"].tolist() == ["Kim", "Ada", "Eve"]
    one.save(path)
    with pytest.raises(ValueError, match=r"saved with a constraint: give it to load once more"):
        alx.Learner.load(path)
    other = alx.Learner.load(path, constraint=warm)
    assert state(other) == state(one)
    assert other.to_dataframe()["who"].tolist() == ["Kim", "Ada", "Eve"]
    again = tmp_path / "new.csv"
    other.to_csv(again)
    assert again.read_text().splitlines()[0] == "torque [Nm],gear,fuel,nox,co [ppm],who"
    third = alx.Learner(untrained(), inputs=INPUTS, outputs=["nox", "co"])
    third.from_csv(again)
    np.testing.assert_array_equal(third.y, one.y)
    third.from_csv(again)  # the same rows once more are no new measurements
    assert len(third.y) == 2


def test_a_bad_row_of_a_csv_is_named_and_nothing_is_told(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("x1,x2,y\n1,2,3\n1,99,3\n")
    one = learner()
    with pytest.raises(ValueError, match=r"old.csv, line 3: x must lie inside the bounds, got 99"):
        one.from_csv(path)
    assert len(one.y) == 0


def test_a_damaged_state_is_refused(tmp_path):
    path = tmp_path / "state"
    one = alx.Learner(random_policy(), BOX, y_std=2.0)
    one.tell([[1, 2], [3, 4], [5, 6]], [1, 2, 3])
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


def test_points_of_two_processes_are_merged(tmp_path):
    path = tmp_path / "state"
    learner(budget=None).save(path)
    one, two = alx.Learner.load(path), alx.Learner.load(path)
    one.tell([1, 1], 1.0)
    one.save(path)
    two.tell([2, 2], 2.0)
    two.tell([3, 3], np.nan)
    two.save(path)
    assert two.y.tolist() == [1, 2]
    one.tell([4, 4], 4.0)
    one.save(path)
    one.save(path)
    both = alx.Learner.load(path)
    assert both.y.tolist() == one.y.tolist() == [1, 2, 4]
    assert both.failed.tolist() == [[3, 3]]


def test_what_cannot_be_merged_is_an_error_and_the_file_stays(tmp_path):
    path = tmp_path / "state"
    one = learner()
    one.tell([1, 1], 1.0)
    one.save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"holds 1 points that this learner does not know.*Learner.load"):
        learner().save(path)
    with pytest.raises(ValueError, match="holds another experiment"):
        learner(bounds=[(0, 1)] * 2).save(path)
    with pytest.raises(ValueError, match="holds another experiment"):
        learner(pool=[[1, 1], [2, 2]]).save(path)
    assert path.read_bytes() == before
    two = learner()
    two.tell([5, 5], 5.0)
    os.unlink(path)
    two.save(path)
    with pytest.raises(ValueError, match="changed by another process, and not by adding points only"):
        one.save(path)


def add_points(path, start: int) -> None:
    one = alx.Learner.load(path)
    for i in range(20):
        one._state = one._state._replace(  # as tell does, without a belief, which would have to be compiled
            x=np.vstack([one._state.x, [1.0, start + i / 100]]),
            y=np.vstack([one._state.y, [[float(start)]]]),
            rows=np.append(one._state.rows, -1),
            extra=(*one._state.extra, {}),
        )
        one.save(path)


def test_two_processes_at_once_lose_nothing(tmp_path):
    path = tmp_path / "state"
    learner(budget=None).save(path)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=add_points, args=(path, start)) for start in (3, 6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    told = alx.Learner.load(path)
    assert sorted(told.y) == [3.0] * 20 + [6.0] * 20
    assert len(np.unique(told.x, axis=0)) == 40
