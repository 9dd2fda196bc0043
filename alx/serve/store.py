"""The experiments of a directory: found, made, changed one request at a time, removed."""

import asyncio
import contextlib
import os
import re
import secrets
import shutil
import traceback
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread

from alx.learner.compiled import room_for
from alx.serve import answers
from alx.serve.experiment import ConflictError, Experiment, fingerprint
from alx.serve.push import Hub
from alx.serve.shapes import MAX_EXPERIMENTS
from alx.serve.warm import WARM, shape, warm

__all__ = ["MissingError", "Store"]

# Bytes of the experiments that are kept in memory; to read one anew takes some hundredths of a second.
IN_MEMORY = 256 << 20
BESIDES = 1 << 20  # of each, beside its beliefs
SHAPES = 16  # whose compiled programs are kept, about 100 MB for each
THREADS = 4
T = TypeVar("T")


class MissingError(Exception):
    """There is no experiment of this id."""


class Store:
    """All of it runs in one event loop, the work of experiments in a few threads.

    Ids from clients are looked up in a dict; names of files are made here and nowhere else.
    """

    def __init__(self, directory: Path):
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self.hub = directory, Hub()
        for left in [*directory.glob(".new-*"), *directory.glob(".deleted-*")]:
            shutil.rmtree(left, ignore_errors=True)
        found = [Experiment(path) for path in directory.iterdir() if re.fullmatch(r"[0-9a-f]{16}", path.name)]
        found.sort(key=lambda each: each.head["created"])
        self._experiments = {each.id: each for each in found}
        self._locks = {each.id: asyncio.Lock() for each in found}
        self._made = {each.head["key"]: each for each in found if each.head["key"] is not None}
        self._used: OrderedDict[str, int] = OrderedDict()
        self._making = asyncio.Lock()
        self._threads, self._compilers = anyio.CapacityLimiter(THREADS), anyio.CapacityLimiter(len(WARM))
        self._warm: dict[tuple, asyncio.Task] = {}

    @property
    def ids(self) -> list[str]:
        return list(self._experiments)

    async def create(self, spec: dict, key: str | None) -> str:
        """Make an experiment, or find the one that this request has made before."""
        mark = fingerprint("create", spec)
        async with self._making:
            if key in self._made:
                if self._made[key].head["mark"] != mark:
                    raise ConflictError(f"the request id {key!r} was used for another experiment")
                return self._made[key].id
            if len(self._experiments) >= MAX_EXPERIMENTS:
                raise ValueError(f"there are {MAX_EXPERIMENTS} experiments already: delete one first")
            name = secrets.token_hex(8)
            made = await self._run(Experiment.create, self.directory, name, spec, key, mark)
            await self._run(_sync, self.directory)
            self._experiments[name], self._locks[name] = made, asyncio.Lock()
            if key is not None:
                self._made[key] = made
        for what in WARM:
            self._warm_up(what, spec)
        self.hub.publish(name, 0)
        return name

    async def ready(self, name: str, what: str) -> None:
        """Wait until this need not be compiled while the experiment is held."""
        if name not in self._experiments:
            raise MissingError
        await asyncio.shield(self._warm_up(what, self._experiments[name].head["spec"]))

    def _warm_up(self, what: str, spec: dict) -> asyncio.Task:
        key = what, shape(spec)
        if key not in self._warm:
            full = len(self._warm) >= SHAPES * len(WARM)
            if full:
                self._warm = {each: task for each, task in self._warm.items() if not task.done()}
            self._warm[key] = asyncio.create_task(
                anyio.to_thread.run_sync(warm, what, spec, full, limiter=self._compilers)
            )
        return self._warm[key]

    async def use(self, name: str, function: Callable[[Experiment], T]) -> T:
        """The function of one experiment, while nobody else works on it."""
        async with self._hold(name) as experiment:
            result = await self._run(function, experiment)
            self._note(experiment)
        await self._make_room()
        return result

    async def summary(self, name: str) -> dict:
        """A line of the list, without waiting for the experiment when it is known."""
        experiment = self._experiments.get(name)
        if experiment is not None and experiment.progress is not None:
            return answers.summary(experiment)
        return await self.use(name, answers.summary)

    async def change(self, name: str, action: str, body: dict, key: str | None) -> dict:
        """Change one experiment, durably, and tell those who watch."""

        def make(experiment: Experiment) -> dict:
            try:
                return experiment.change(action, body, key)
            finally:
                if experiment.is_over:
                    experiment.leave()

        answer = await self.use(name, make)
        self.hub.publish(name, answer["version"])
        return answer

    async def delete(self, name: str) -> None:
        """Remove an experiment and its files."""
        async with self._hold(name) as experiment:
            gone = self.directory / f".deleted-{name}"
            await self._run(_remove, experiment, gone)
            del self._experiments[name], self._locks[name]
            self._used.pop(name, None)
            self._made = {key: each for key, each in self._made.items() if each is not experiment}
        self.hub.publish(name, -1)

    async def close(self) -> None:
        """Save all learners, so that their files alone hold everything."""
        for name in self.ids:
            await self.use(name, Experiment.compact)

    @contextlib.asynccontextmanager
    async def _hold(self, name: str):
        if name not in self._locks:
            raise MissingError
        async with self._locks[name]:
            if name not in self._experiments:  # deleted meanwhile
                raise MissingError
            yield self._experiments[name]

    async def _run(self, function: Callable[..., T], *arguments: Any) -> T:
        return await anyio.to_thread.run_sync(_clean, function, *arguments, limiter=self._threads)

    def _note(self, experiment: Experiment) -> None:
        learner = experiment.learner
        self._used.pop(experiment.id, None)
        if learner is not None:
            each = room_for(max(learner.budget or 32, learner.spent), len(learner.inputs))
            self._used[experiment.id] = BESIDES + len(learner.outputs) * each

    async def _make_room(self) -> None:
        while len(self._used) > 1 and sum(self._used.values()) > IN_MEMORY:
            name, _ = self._used.popitem(last=False)
            with contextlib.suppress(MissingError):
                async with self._hold(name) as experiment:
                    await self._run(experiment.leave)


def _clean(function: Callable[..., T], *arguments: Any) -> T:
    """Call the function; what it raises holds on to no learner.

    The frames of a traceback keep all that was in them, and asyncio keeps the traceback until Python next
    looks for cycles, which may be minutes.
    """
    try:
        return function(*arguments)
    except BaseException as raised:
        error: BaseException | None = raised
        while error is not None:
            traceback.clear_frames(error.__traceback__)
            error = error.__context__
        raise


def _remove(experiment: Experiment, gone: Path) -> None:
    experiment.close()
    experiment.directory.rename(gone)
    _sync(gone.parent)
    shutil.rmtree(gone)


def _sync(directory: Path) -> None:
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
