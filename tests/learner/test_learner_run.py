"""A run reaches its goal with any number of workers, whatever the measurements do."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor

import numpy as np
import pytest
from untrained import untrained

import alx
from alx.learner.goals import as_goal


def learner(**kwargs) -> alx.Learner:
    return alx.Learner(untrained(), **({"bounds": [(0.0, 10.0)] * 2, "budget": 8} | kwargs))


def wave(x: np.ndarray) -> float:
    return float(np.sin(x).sum())


class Stub:
    """As much of a learner as goals look at."""

    def __init__(self, points=0, error=1.0):
        self.spent, self.pending, self.y, self._error = points + 1, [0], [0.0], error

    def error(self):
        return alx.learner.model.ErrorEstimate(self._error / 2, 0.0, self._error)


def test_goals_and_their_combinations():
    few, many = Stub(3, 2.0), Stub(5, 0.5)
    points, error, seconds = alx.Points(5), alx.Error(1.0), alx.Time(60)
    for goal, early, late in (
        (points, False, True),
        (error, False, True),
        (points & error, False, True),
        (points | seconds, False, True),
        (points & (lambda learner: len(learner.y) > 1), False, False),
        ((lambda learner: learner.spent > 5) | seconds, False, True),
    ):
        assert goal.reached(few, 0) is early
        assert goal.reached(many, 0) is late
    assert (points | seconds).reached(few, 60)
    assert (points | seconds).wait(20) == 40
    assert (points & seconds).wait(20) == np.inf
    assert seconds.wait(70) == 0
    assert not alx.Error([1.0, 0.1]).reached(many, 0)
    assert as_goal(lambda _: True).reached(few, 0)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: alx.Points(0), "whole number of at least 1"),
        (lambda: alx.Error(-1), "positive"),
        (lambda: alx.Error("small"), "rmse must be numbers"),
        (lambda: alx.Time(-1), "not be negative"),
        (lambda: alx.Time(1) | 3, "until must be a goal"),
        (lambda: learner(budget=None).run(wave), "a run needs an end"),
        (lambda: learner().run(7), "measure must be a function"),
        (lambda: learner().run(wave, retries=-1), "retries must be"),
        (lambda: learner().run(wave, executor=7), "executor must have submit"),
        (lambda: learner().run(wave, executor=Inline(), workers=0), "workers must be"),
    ],
)
def test_what_cannot_be_run_is_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_a_run_spends_the_budget_and_stops_at_a_goal():
    one = learner()
    one.run(wave, until=alx.Points(3))
    assert len(one.y) == 3
    one.run(wave)
    assert one.remaining == 0
    np.testing.assert_array_equal(one.y, [wave(x) for x in one.x])
    one.run(wave)  # nothing is left to do
    assert len(one.y) == 8


def test_all_workers_are_kept_busy():
    one, all_three = learner(budget=6), threading.Barrier(3)

    def measure(x):
        all_three.wait(60)  # passes when three measure at once
        return wave(x)

    with ThreadPoolExecutor(3) as executor:
        one.run(measure, executor=executor)
    assert len(one.failed) == 0
    assert len(one.y) == 6
    assert len(one.pending) == 0
    assert len(np.unique(one.x, axis=0)) == 6


class Inline:
    """An executor of another library: it has `submit`, and its futures have callbacks."""

    def submit(self, function, x):
        future = Future()
        future.set_result(function(x))
        return future


def test_anything_with_submit_will_do():
    one = learner()
    with pytest.raises(ValueError, match="workers is needed"):
        one.run(wave, executor=Inline())
    one.run(wave, executor=Inline(), workers=2, until=alx.Points(4))
    assert len(one.y) in (4, 5)  # one more was under way


def test_failures_are_tried_again_and_then_told(caplog):
    one, calls = learner(budget=5), []

    def measure(x):
        calls.append(tuple(x))
        if len(calls) in (1, 2):
            raise RuntimeError("no light")
        if len(calls) in (4, 5):
            return np.nan
        return wave(x)

    one.run(measure, retries=1)
    assert calls[0] == calls[1]
    assert calls[3] == calls[4]
    assert len(one.failed) == 2
    assert len(one.y) == 3
    assert "RuntimeError: no light" in caplog.text
    assert "it gave nan" in caplog.text


def test_when_everything_fails_the_run_says_so():
    one = learner(budget=None)
    with pytest.raises(
        RuntimeError, match=r"last 10 measurements have all failed, this one: ValueError: off"
    ):
        one.run(lambda x: (_ for _ in ()).throw(ValueError("off")), until=alx.Points(30))
    assert len(one.failed) == 9
    assert len(one.pending) == 1


def test_a_measure_of_the_wrong_kind_is_an_error_and_its_point_stays_pending():
    for result, match in (
        ("high", "measure must return numbers"),
        ([1, 2], "one number for each of 1 outputs"),
    ):
        one = learner()
        with pytest.raises(ValueError, match=match):
            one.run(lambda x, result=result: result)
        assert len(one.pending) == 1


def test_dead_workers_say_nothing_about_a_point(tmp_path):
    one = learner()

    class Broken:
        def submit(self, function, x):
            future = Future()
            future.set_exception(BrokenExecutor("gone"))
            return future

    with pytest.raises(BrokenExecutor):
        one.run(wave, executor=Broken(), workers=2, save=tmp_path / "state")
    assert len(one.failed) == 0
    assert len(alx.Learner.load(tmp_path / "state").pending) == 2


def test_an_interrupted_run_goes_on_from_its_file(tmp_path):
    path, calls = tmp_path / "state", []

    def measure(x):
        calls.append(tuple(x))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return wave(x)

    one = learner()
    one.tell([5, 5], 0.0)
    with pytest.raises(KeyboardInterrupt):
        one.run(measure, save=path)
    assert len(one.y) == 4
    two = learner()
    two.tell([5, 5], 0.0)  # a script that is started again tells its own points again
    two.run(measure, save=path)
    assert len(two.y) == 8
    assert two.x[0].tolist() == [5, 5]
    assert calls[3] == calls[4]  # the point that was under way
    assert len(set(calls)) == 7
    np.testing.assert_array_equal(alx.Learner.load(path).x, two.x)
    other = learner(bounds=[(0, 1)] * 2)
    with pytest.raises(ValueError, match="holds another experiment"):
        other.run(wave, save=path)


def test_a_pool_ends_a_run():
    one = learner(pool=np.random.default_rng(0).uniform(0, 10, (3, 2)), budget=None)
    one.run(wave, until=alx.Points(30))
    assert len(one.y) == 3


VICTIM = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
sys.path[:0] = sys.argv[2:]
import alx
from random_policy import random_policy

def measure(x):
    with open(sys.argv[1] + ".log", "a") as log:
        log.write(repr(tuple(x.tolist())) + "\\n")
    time.sleep(0.01)
    return float(x.sum())

learner = alx.Learner(random_policy(network="paper"), [(0, 1)] * 2, budget=24)
with ThreadPoolExecutor(4) as executor:
    learner.run(measure, executor=executor, save=sys.argv[1])
print("done")
"""


def test_kill_at_any_moment_loses_nothing(tmp_path):
    path = tmp_path / "state"
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command = [sys.executable, "-c", VICTIM, str(path), os.path.dirname(here), here]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while not path.exists() or len(alx.Learner.load(path).y) < 6:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    told = alx.Learner.load(path).x.tolist()
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "done\n"
    final = alx.Learner.load(path)
    assert final.x[: len(told)].tolist() == told
    assert len(final.y) == 24
    measured = (tmp_path / "state.log").read_text().splitlines()
    wanted = [repr(tuple(x)) for x in final.x.tolist()]  # the same place may be asked for more than once
    again = sum(max(measured.count(line) - wanted.count(line), 0) for line in set(measured))
    assert again <= 4  # those under way when it was killed
