"""The server's process: a lock on the directory, a socket, uvicorn and the simulated bench."""

import asyncio
import contextlib
import socket
from collections.abc import Iterable
from pathlib import Path

import uvicorn

from alx.serve.app import make_app
from alx.serve.demo import bench
from alx.serve.memory import keep_little
from alx.serve.store import Store

try:
    from alx.io.lock import hold
except ImportError:  # Windows has no such locks: there nobody keeps a second server out of the directory
    hold = contextlib.nullcontext


__all__ = ["run"]


async def run(
    directory: Path, host: str, port: int, token: str | None, cors: Iterable[str], demo: bool
) -> None:
    """Serve until a signal; see ``command.serve``."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--dir {directory} cannot be made: {error.strerror}") from None
    keep_little()
    with hold(directory), _listen(host, port) as listener:
        store = Store(directory)
        config = uvicorn.Config(
            make_app(store, token, cors), log_level="warning", timeout_graceful_shutdown=5, lifespan="on"
        )
        server = _Server(config)
        server.store = store
        shown = f"[{host}]" if ":" in host else host
        print(f"alx serves {directory} at http://{shown}:{listener.getsockname()[1]}", flush=True)
        task = asyncio.create_task(bench(store)) if demo else None
        try:
            await server.serve(sockets=[listener])
        finally:
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task


class _Server(uvicorn.Server):
    store: Store

    def handle_exit(self, sig, frame) -> None:
        self.store.hub.close()  # streams would keep it from stopping
        super().handle_exit(sig, frame)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)  # from now on clients wait instead of being refused
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"cannot listen at {host} port {port}: {reason}") from None
    return listener
