"""A run: measure where the learner asks until a goal is reached, with any number of workers at once."""

import functools
import logging
import os
import queue
import sys
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from typing import Any

import numpy as np

from alx.learner.checks import as_whole_number, short
from alx.learner.goals import Goal, as_goal

__all__ = ["run"]

LOG = logging.getLogger("alx")
# When so many measurements in a row have failed, something is wrong that no further one will mend.
FAILURES_IN_A_ROW = 10


def run(
    learner: Any,
    measure: Callable[[np.ndarray], Any],
    until: Any,
    executor: Any,
    save: str | os.PathLike | None,
    retries: int,
    workers: int | None,
) -> None:
    """See ``Learner.run``."""
    if not callable(measure):
        raise ValueError(f"measure must be a function of a point, got {short(measure)}")
    retries = as_whole_number("retries", retries, 0)
    if until is None and learner.budget is None:
        raise ValueError(
            "a run needs an end: until=alx.Points(40), alx.Error(0.5) or alx.Time(3600), or a budget"
        )
    goal = None if until is None else as_goal(until)
    submit = functools.partial(_at_once, measure) if executor is None else _submit(executor, measure)
    slots = 1 if executor is None else _workers(executor, workers)
    if save is not None and os.path.exists(save):
        learner._resume(save)
    _Run(learner, submit, goal, slots, save, retries).go()


class _Run:
    """The measurements under way and what is to be done with them."""

    def __init__(self, learner, submit, goal: Goal | None, slots: int, save, retries: int):
        self.learner, self.submit, self.goal, self.slots = learner, submit, goal, slots
        self.save, self.retries = save, retries
        self.begin = time.monotonic()
        self.done: queue.SimpleQueue[tuple[np.ndarray, Any]] = queue.SimpleQueue()
        self.left_over = list(learner.pending)  # asked for by a run that was cut short: these come first
        self.tries: dict[tuple, int] = {}
        self.under_way: list[Any] = []
        self.failures = 0
        self.told = 0

    def go(self) -> None:
        line = _Line()
        try:
            while True:
                enough = self._enough()
                while not enough and len(self.under_way) < self.slots and (x := self._next()) is not None:
                    self._start(x)
                if not self.under_way:
                    break
                self._finish(*self.done.get())
                line.show(self)
        finally:
            # Also after Ctrl-C: what is under way stays pending, and a later run begins with it.
            for future in self.under_way:
                future.cancel()
            if self.save is not None:
                self.learner.save(self.save)
            line.end()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begin

    def _enough(self) -> bool:
        return self.goal is not None and self.goal.reached(self.learner, self.seconds)

    def _next(self) -> np.ndarray | None:
        """The next point, None when the budget or the domain is used up."""
        if self.left_over:
            return self.left_over.pop(0)
        if self.learner.remaining < 1:
            return None
        try:
            return self.learner.ask()
        except ValueError:
            if self.under_way or self.told:  # a finite domain or a pool that has no more points
                return None
            raise

    def _start(self, x: np.ndarray) -> None:
        future = self.submit(x)
        self.under_way.append(future)
        future.add_done_callback(lambda future: self.done.put((x, future)))

    def _finish(self, x: np.ndarray, future: Any) -> None:
        self.under_way.remove(future)
        y, trouble = _result(future, len(self.learner.outputs))
        if trouble is not None:
            self.failures += 1
            key = tuple(x)
            self.tries[key] = self.tries.get(key, 0) + 1
            if self.failures >= FAILURES_IN_A_ROW:
                raise RuntimeError(
                    f"the last {self.failures} measurements have all failed, this one: {trouble}"
                )
            if self.tries[key] <= self.retries and not self._enough():
                LOG.warning("The measurement at %s failed and is tried again: %s", x, trouble)
                return self._start(x)
            LOG.warning("The measurement at %s failed: %s", x, trouble)
        else:
            self.failures = 0
        self.learner.tell(x, y, asked=x)
        self.told += 1
        if self.save is not None:
            self.learner.save(self.save)
        return None


def _result(future: Any, outputs: int) -> tuple[Any, str | None]:
    """The outputs of a measurement, and what went wrong with it."""
    nothing = np.full(outputs, np.nan) if outputs > 1 else np.nan
    try:
        y = future.result()
    except BrokenExecutor:
        raise  # the workers are gone, which says nothing of the point
    except Exception as error:
        return nothing, f"{type(error).__name__}: {error}"
    try:
        values = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"measure must return numbers, got {short(y)}") from None
    if values.size != outputs:
        raise ValueError(f"measure must return one number for each of {outputs} outputs, got {short(y)}")
    values = np.where(np.isfinite(values), values, np.nan)
    trouble = f"it gave {short(y)}" if np.isnan(values).all() else None
    return (values.reshape(outputs) if outputs > 1 else float(values.reshape(()))), trouble


def _at_once(measure: Callable, x: np.ndarray) -> Future:
    future: Future = Future()
    try:
        future.set_result(measure(x))
    except Exception as error:
        future.set_exception(error)
    return future


def _submit(executor: Any, measure: Callable) -> Callable[[np.ndarray], Any]:
    if not callable(getattr(executor, "submit", None)):
        raise ValueError(f"executor must have submit, as those of concurrent.futures, got {short(executor)}")
    return lambda x: executor.submit(measure, x)


def _workers(executor: Any, workers: int | None) -> int:
    """How many measurements an executor makes at once."""
    if workers is not None:
        return as_whole_number("workers", workers, 1)
    if isinstance(own := getattr(executor, "_max_workers", None), int):
        return own
    if hasattr(executor, "nthreads"):  # a client of dask
        return max(sum(executor.nthreads().values()), 1)
    raise ValueError("workers is needed: this executor does not say how many it has")


class _Line:
    """The progress of a run, in one line of the terminal that is written again and again."""

    def __init__(self) -> None:
        self.shown = 0

    def show(self, state: _Run) -> None:
        if not sys.stderr.isatty():
            return
        learner = state.learner
        told = learner.spent - len(learner.pending)
        parts = [f"{told} points" if learner.budget is None else f"{told} of {learner.budget} points"]
        if learner.failed.size:
            parts.append(f"{len(learner.failed)} failed")
        if len(learner.y) > 1:
            error = learner.error()
            names = "".join(f" {value:.3g}" for value in np.atleast_1d(error.rmse))
            parts.append(f"error about{names}")
        parts.append(_time_left(state))
        text = ", ".join(part for part in parts if part)
        print(f"\r{text:<{self.shown}}", end="", file=sys.stderr, flush=True)
        self.shown = len(text)

    def end(self) -> None:
        if self.shown:
            print(file=sys.stderr)


def _time_left(state: _Run) -> str:
    waits = [] if state.goal is None else [state.goal.wait(state.seconds)]
    if state.learner.budget is not None and state.told:
        to_go = state.learner.remaining + len(state.learner.pending)
        waits.append(to_go * state.seconds / state.told)
    least = min(waits, default=np.inf)
    return f"{least:.0f} s left" if np.isfinite(least) else f"{state.seconds:.0f} s"
