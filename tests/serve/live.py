"""A server in a thread of this process, and requests to it."""

import asyncio
import contextlib
import http.client
import json
import threading

import uvicorn

from alx.serve.app import make_app
from alx.serve.store import Store

LINE = {"name": "line", "inputs": [{"name": "x", "low": 0, "high": 1}], "budget": 8}


class Live:
    """The server on a directory; ``kill`` leaves it as a crash would."""

    def __init__(self, directory, token=None, origins=()):
        self.directory, self.token, self.origins = directory, token, origins
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._ready.wait(30)

    def _run(self):
        asyncio.run(self._serve())

    async def _serve(self):
        self.store = Store(self.directory)
        app = make_app(self.store, self.token, self.origins)
        config = uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        task = asyncio.create_task(self.server.serve())
        while not self.server.started:
            await asyncio.sleep(0.005)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]
        self._ready.set()
        await task

    def stop(self):
        self.store.hub.close()
        self.server.should_exit = True
        self._thread.join(30)

    def kill(self):
        """Stop without saving anything."""

        async def nothing():
            for each in self.store._experiments.values():
                each.close()

        self.store.close = nothing
        self.stop()

    def raw(self, method, path, body=None, headers=None):
        """Status, headers and text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()

    def __call__(self, method, path, body=None, status=200, key=None):
        """The JSON of an answer of this status."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= {"Idempotency-Key": key} if key else {}
        text = None if body is None else json.dumps(body)
        got, _, answer = self.raw(method, f"/v1/experiments{path}", text, headers)
        expected = 201 if (method, path, status) == ("POST", "", 200) else status
        assert got == expected, answer
        return json.loads(answer)

    def new(self, **changes):
        """The path of a new experiment."""
        return "/" + self("POST", "", LINE | changes)["id"]
