"""Changes pushed to those who watch, as server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator

__all__ = ["Hub"]

MAX_WATCHERS = 100
BEAT = 15.0  # seconds between signs of life, by which both ends notice a lost connection


class Hub:
    """Watchers learn which experiments have changed; a slow one gets the latest version of each."""

    def __init__(self) -> None:
        self._watchers: dict[asyncio.Event, dict[str, int]] = {}
        self._closed = False

    @property
    def full(self) -> bool:
        return len(self._watchers) >= MAX_WATCHERS

    def publish(self, name: str, version: int) -> None:
        """An experiment has changed; version -1 says that it was deleted."""
        for wake, news in self._watchers.items():
            news[name] = version
            wake.set()

    def close(self) -> None:
        """End all streams, so that the server can stop."""
        self._closed = True
        for wake in self._watchers:
            wake.set()

    async def stream(self, only: str | None) -> AsyncIterator[str]:
        """The text of an event stream, of one experiment or of all."""
        wake, news = asyncio.Event(), {}
        self._watchers[wake] = news
        try:
            yield "retry: 1000\n\n"
            while not self._closed:
                try:
                    await asyncio.wait_for(wake.wait(), BEAT)
                except TimeoutError:
                    yield ": still here\n\n"
                wake.clear()
                changes, news = news, {}
                self._watchers[wake] = news
                for name, version in changes.items():
                    if only in (None, name):
                        data = json.dumps({"experiment": name, "version": version})
                        yield f"event: change\ndata: {data}\n\n"
        finally:
            self._watchers.pop(wake, None)
