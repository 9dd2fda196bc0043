"""One experiment of the server: its learner, its journal, and which requests it has answered already."""

import hashlib
import json
import logging
import shutil
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

import alx
from alx.serve import journal as journals
from alx.serve.changes import ACTIONS, apply
from alx.serve.journal import Journal
from alx.serve.spec import constraint, new_learner

__all__ = ["ConflictError", "Experiment", "fingerprint", "progress"]

LOG = logging.getLogger("alx")
REMEMBERED = 500  # request ids of an experiment
LONGEST = 500  # changes in a journal before the learner is saved anew


class ConflictError(ValueError):
    """A request id that was used for another request."""


class Experiment:
    """Not for two threads at once: the store holds a lock. The learner is read from disk when it is needed.

    A change counts when its line is in the journal; only then it is answered. The line holds the request's id
    and the answer as well, so a crash cannot part them and a retry finds both or neither.

    Attributes:
        head: the first line of the journal but for its answers, with the description under ``spec``.
        learner: what it knows, None while it is not in memory.
        progress: how far it is, None before it was read from disk.
        curves: for each output the errors after so many points, as far as they were asked for.
    """

    def __init__(self, directory: Path):
        self.directory = directory
        self.head = journals.read_head(directory)
        del self.head["answered"]  # much, and only needed while it is open
        self.learner: alx.Learner | None = None
        self.progress: dict[str, Any] | None = None
        self.curves: dict[int, dict[int, list]] = {}
        self._version = 0
        self._answered: OrderedDict[str, list] = OrderedDict()
        self._journal: Journal | None = None
        self._length = 0

    @classmethod
    def create(cls, directory: Path, name: str, spec: dict, key: str | None, mark: str) -> "Experiment":
        """A new one in ``directory / name``, which is there as a whole or not at all."""
        learner = new_learner(spec)
        draft = directory / f".new-{name}"
        draft.mkdir()
        try:
            head = {"id": name, "created": time.time(), "spec": spec, "key": key, "mark": mark}
            head |= {"format": 1, "base": 0, "version": 0, "answered": []}
            learner.save(draft / _file(0))
            Journal.start(draft, head).close()
            draft.rename(directory / name)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return cls(directory / name)

    @property
    def id(self) -> str:
        return self.head["id"]

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to ask for or to wait for."""
        return self.progress is not None and self.progress["remaining"] == self.progress["waiting"] == 0

    def open(self) -> alx.Learner:
        """The learner, read from disk if need be."""
        if self.learner is not None:
            return self.learner
        self._journal = Journal(self.directory)  # cuts off what a crash left of a line
        self.head, changes = journals.read(self.directory)
        learner = alx.Learner.load(self.directory / _file(self.head["base"]), constraint(self.head["spec"]))
        self._version = self.head["version"] + len(changes)
        self._answered = OrderedDict((key, rest) for key, *rest in self.head.pop("answered"))
        for line in changes:
            apply(learner, line["change"], line["data"])
            self._remember(line.get("key"), line["mark"], line["answer"])
        self._length = len(changes)
        self.learner, self.progress = learner, progress(learner, self._version)
        return learner

    def close(self) -> None:
        """Let go of memory, but for what the list shows; everything is on disk."""
        if self._journal is not None:
            self._journal.close()
        self.learner = self._journal = None
        self._answered = OrderedDict()

    def leave(self) -> None:
        """Let go of memory, with the learner saved."""
        self._try_to_compact()
        self.close()

    def change(self, action: str, body: dict, key: str | None) -> dict:
        """Do what a request wants, once: the answer is on disk when this returns."""
        learner, mark = self.open(), fingerprint(action, body)
        if key in self._answered:
            earlier, answer = self._answered[key]
            if earlier != mark:
                raise ConflictError(f"the request id {key!r} was used for another request of this experiment")
            return answer
        name, make = ACTIONS[action]
        done = False
        try:
            data = make(learner, body)
            answer = {"x": data["x"]} if action == "ask" else {}
            found = progress(learner, self._version + 1)
            answer |= found
            line = {"change": name, "data": data, "mark": mark, "answer": answer}
            self._journal.append(line if key is None else line | {"key": key})  # pyright: ignore
            done = True
        except ValueError:
            done = True  # refused, and nothing has changed
            raise
        finally:
            if not done:  # the disk is full, say: what is in memory was not answered and must not stay
                self.close()
        self._version, self.progress = self._version + 1, found
        self._length += 1
        self._remember(key, mark, answer)
        if self._length >= LONGEST:
            self._try_to_compact()
        return answer

    def _try_to_compact(self) -> None:
        try:
            self.compact()
        except (OSError, ValueError) as error:  # all changes are safe in the journal, which grows on
            LOG.warning("The learner of %s could not be saved: %s", self.id, error)

    def compact(self) -> None:
        """Save the learner and begin a new journal after it; at any moment one of the two pairs is valid."""
        if self.learner is None or self._length == 0:
            return
        try:
            self._compact()
        except BaseException:
            self.close()  # which of the two journals is there now is found out when it is opened again
            raise

    def _compact(self) -> None:
        base = self.head["base"]
        answered = [[key, *rest] for key, rest in self._answered.items()]
        head = self.head | {"base": base + 1, "version": self._version}
        path = self.directory / _file(base + 1)
        path.unlink(missing_ok=True)  # of an earlier try
        self.open().save(path)
        fresh = Journal.start(self.directory, head | {"answered": answered})
        if self._journal is not None:
            self._journal.close()
        self._journal, self.head, self._length = fresh, head, 0
        for old in self.directory.glob(f"*{_file(base)}*"):
            old.unlink(missing_ok=True)

    def _remember(self, key: str | None, mark: str, answer: dict) -> None:
        if key is not None:
            self._answered[key] = [mark, answer]
            while len(self._answered) > REMEMBERED:
                self._answered.popitem(last=False)


def fingerprint(action: str, body: dict) -> str:
    """What was requested, in a few characters."""
    return hashlib.sha256(json.dumps([action, body], sort_keys=True).encode()).hexdigest()[:16]


def progress(learner: alx.Learner, version: int) -> dict[str, Any]:
    """How far the experiment is (see ``shapes.PROGRESS``)."""
    waiting = len(learner.pending)
    told = learner.spent - waiting
    return {
        "version": version,
        "told": told,
        "failed": len(learner.failed),
        "waiting": waiting,
        "remaining": None if learner.budget is None else int(learner.remaining),
    }


def _file(number: int) -> str:
    return f"learner-{number}.alx"
