"""A whole experiment in the user's own units: where to measure next, what was learned, is it enough."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from alx.learner import csv_table
from alx.learner import model as output_model
from alx.learner import run as learner_run
from alx.learner.arguments import as_outputs
from alx.learner.checks import as_scalar
from alx.learner.domain import OVERSHOOT
from alx.learner.experiment import Experiment
from alx.learner.inputs import Choice
from alx.learner.state import Reading

__all__ = ["Learner"]


class Learner(Experiment):
    """One experiment: ``ask`` where to measure next, ``tell`` what was measured, ``predict`` the rest.

        learner = alx.Learner(bounds=[(-5, 10), (0, 15)], budget=20)
        while learner.remaining:
            x = learner.ask()
            learner.tell(x, measure(x))
        mean, sd = learner.predict([[1.0, 2.0], [3.0, 4.0]])

    Points asked for and not yet told are pending: the next ``ask`` keeps away from them. Points may be told
    in any order, and so may points that were never asked for. The same point told twice with the same output
    counts once, as a message sent twice; ``repeat=True`` says that it was measured twice. With a different
    output it counts as another measurement anyway. Bad input raises a ValueError and changes nothing.

    Args:
        policy: a policy, the name of a shipped one or the path of a policy file; the general one by default.
        bounds: a (low, high) pair for each input. By default those of the pool, if there is one.
        inputs: instead of bounds, a list of ``Real``, ``Integer`` and ``Choice``. With a choice among them
            points are arrays of objects.
        outputs: what is measured, as names or ``Output`` objects. With several, y has one number for each.
        constraint: a function of points ``[n, D]`` that says True or False for each: whether it is allowed.
        pool: ask only for rows of this array ``[N, D]``, each at most once.
        budget: the number of points in all, told and pending. Unlimited by default; a policy that was trained
            for a certain number of points brings that.
        y_mean: the mean of the outputs over the domain, if known; otherwise it is estimated from the points.
        y_std: their standard deviation, likewise.
        tolerance: how far from a pending point, for each input in its unit, a measurement may lie and still
            answer it; by default only as far as rounding goes.
        count_failures: whether failed measurements count towards the budget.
    """

    def predict(self, x: Any) -> tuple[Any, Any]:
        """Mean and standard deviation of the outputs, without noise, at one point ``[D]`` or many ``[n, D]``.

        With several outputs the last axis has one number for each. Until two measured values differ, their
        scale is unknown and the deviation infinite, unless ``y_std`` is given.
        """
        return self._predict(x, output_model.predict)

    def interval(self, x: Any, level: float = 0.9) -> tuple[Any, Any]:
        """The values between which the outputs lie with probability ``level``; shapes as in ``predict``."""
        level = as_scalar("level", level)
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level:g}")
        return self._predict(x, lambda one, points: output_model.interval(one, points, level))

    def error(self) -> output_model.ErrorEstimate:
        """The model's own estimate of its root-mean-square error over the domain, with a range.

        It is the error against the function itself, in the output's unit, without the noise of measurements.
        With several outputs each field is an array.
        """
        places = self._domain.embed(self._asker.error_places)
        each = [output_model.estimate_error(one, places) for one in self._measured_beliefs()]
        return (
            each[0] if len(each) == 1 else output_model.ErrorEstimate(*map(np.array, zip(*each, strict=True)))
        )

    @property
    def model(self) -> Any:
        """The likely kernels in the user's units, ``Kernels``; with several outputs a dict by name."""
        low, high = self._domain.bounds.T
        widths = np.where([isinstance(each, Choice) for each in self.inputs], 1.0, high - low)
        found = [output_model.kernels(one, self._domain.groups, widths) for one in self._measured_beliefs()]
        names = [each.name for each in self.outputs]
        return found[0] if len(found) == 1 else dict(zip(names, found, strict=True))

    def run(
        self,
        measure: Callable[[np.ndarray], Any],
        until: Any = None,
        executor: Any = None,
        save: str | os.PathLike | None = None,
        retries: int = 0,
        workers: int | None = None,
    ) -> None:
        """Measure until a goal is reached or the budget is spent.

        Args:
            measure: takes a point ``[D]`` and returns its output, or a list of its outputs. When it raises,
                or returns NaN, the measurement has failed.
            until: a goal such as ``alx.Points(40)``, ``alx.Error(0.5)`` or ``alx.Time(3600)``, a function of
                the learner, or several of them combined with ``|`` and ``&``.
            executor: anything with ``submit``, such as those of ``concurrent.futures``; all its workers are
                kept busy. Without one, measurements are made one after the other.
            save: a file that is written after each point. When it is there already, the run goes on from it.
            retries: how often a failed measurement is tried again before the failure is told.
            workers: how many measurements are under way at once; by default as many as the executor has
                workers.
        """
        learner_run.run(self, measure, until, executor, save, retries, workers)

    def peek(self) -> np.ndarray | None:
        """What ``ask`` would return, without making it pending; None when nothing is left to ask for."""
        state = self._state
        try:
            return self.ask()
        except ValueError:
            return None
        finally:
            self._state = state

    def expect(self, x: Any) -> None:
        """Make points of your own choice, ``[D]`` or ``[n, D]``, pending, as if they had been asked for."""
        state = self._state
        for point in self._domain.codes("x", x):
            state = state.ask(point, self._row(state, point))
        if self._budget is not None and state.spent(self.count_failures) > self._budget:
            raise ValueError(f"the budget is spent: {self._spending()}")
        self._state = state

    def to_columns(self) -> dict[str, np.ndarray]:
        """All points told, in order, as one column per input and output; failed ones have NaN."""
        state = self._state
        return csv_table.to_columns(
            self.inputs, self.outputs, self._domain.rows(state.x), state.y, state.extra
        )

    def to_dataframe(self) -> Any:
        """The columns as a pandas DataFrame, or as they are if pandas is not installed."""
        return csv_table.to_dataframe(self.to_columns())

    def to_csv(self, path: csv_table.CsvFile) -> None:
        """Write all points told to a file or an ``io.StringIO``; ``from_csv`` reads them again."""
        csv_table.write_csv(path, self.inputs, self.outputs, self.to_columns())

    def from_csv(self, source: Any) -> None:
        """Tell the points of a CSV file, given as a path or an open file: all or none.

        A header names the columns, in any order, with or without units; columns of other names are carried
        along. Semicolons and decimal commas are understood. A row without outputs is a failed measurement.
        """
        sheet = csv_table.read_sheet(source)
        table = csv_table.read_csv(sheet, self.inputs, self.outputs)
        readings = []
        for x, y, extra, line in zip(*table, strict=True):
            try:
                point = self._domain.codes("x", [x], OVERSHOOT)[0]
                output = as_outputs([y] if len(y) > 1 else y, 1, len(y))[0]
            except ValueError as error:
                raise ValueError(f"{sheet.name}, line {line}: {error}") from None
            readings.append(Reading(point, output, extra=extra))
        self._tell(readings)

    def plot(self) -> Any:
        """A Matplotlib figure of the model and its points in the user's units."""
        from alx.learner.plot import plot  # Matplotlib only when it is needed

        return plot(self)

    def _predict(self, x: Any, function: Callable) -> tuple[Any, Any]:
        points = self._domain.codes("x", x, OVERSHOOT)
        single = np.ndim(x) < 2 and (self._domain.dim > 1 or np.ndim(x) == 0)
        places = self._domain.embed(points)
        parts = [function(one, places) for one in self._measured_beliefs()]
        first, second = (np.stack(each, 1) for each in zip(*parts, strict=True))
        if len(self.outputs) == 1:
            first, second = first[:, 0], second[:, 0]
        return (first[0], second[0]) if single else (first, second)

    def _measured_beliefs(self) -> list[output_model.OutputBelief]:
        beliefs = self._told_beliefs()
        for one, output in zip(beliefs, self.outputs, strict=True):
            if len(one.y) == 0:
                raise ValueError(f"there is no model of {output.name} before its first measurement is told")
        return beliefs
