"""A server in a process of its own, and a client of a few lines that keeps its connection."""

import asyncio
import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["Client", "RefusedError", "running", "start"]


class RefusedError(Exception):
    """The server did not want to."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status = status


class Client:
    """One connection. A lost one is opened again, and the request sent again with the same id."""

    def __init__(self, port: int):
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __call__(self, method: str, path: str, body: Any = None, tries: int = 3) -> Any:
        """The answer to one request; ids are added to those that change something."""
        if isinstance(body, dict) and method == "POST":
            body = {"request_id": secrets.token_hex(8)} | body
        for left in reversed(range(tries)):
            try:
                status, data = await self._exchange(method, path, body)
                break
            except (OSError, asyncio.IncompleteReadError):
                await self.close()
                if not left:
                    raise
                await asyncio.sleep(0.1)
        else:
            raise ValueError("tries must be at least 1")
        value = json.loads(data)
        if status >= 300:
            raise RefusedError(status, value["error"])
        return value

    async def _exchange(self, method: str, path: str, body: Any) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        text = b"" if body is None else json.dumps(body).encode()
        head = f"{method} /v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(text)}\r\n"
        writer.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + text)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = int(re.findall(r"(?i)content-length: *(\d+)", head)[0])
        return int(head.split()[1]), await reader.readexactly(length)

    async def close(self) -> None:
        """Let the connection go."""
        if self._streams is not None:
            writer, self._streams = self._streams[1], None
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def start(directory: Path, *options: str) -> tuple[subprocess.Popen, int]:
    """A server on a free port, and the port; returns when it takes requests."""
    command = [sys.executable, "-m", "alx", "serve", "--dir", str(directory), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r":(\d+)$", line.strip())
    if found is None:
        process.kill()
        raise RuntimeError(f"the server did not start: {line}")
    return process, int(found[1])


@contextlib.contextmanager
def running(directory: Path, *options: str) -> Iterator[tuple[subprocess.Popen, int]]:
    """A server that is stopped at the end."""
    process, port = start(directory, *options)
    try:
        yield process, port
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
