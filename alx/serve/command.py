"""``alx serve``: the server on the command line."""

import asyncio
import contextlib
import ipaddress
import logging
import os
from pathlib import Path

from alx.io import cache

__all__ = ["serve"]

SHORTEST_TOKEN = 16


def serve(
    dir: Path = Path("experiments"),
    port: int = 8765,
    host: str = "127.0.0.1",
    token: str | None = None,
    cors: tuple[str, ...] = (),
    demo: bool = False,
) -> None:
    """Serve experiments over HTTP, and a page to watch them and to type readings.

    Args:
        dir: where the experiments are kept.
        port: the port; 0 takes a free one.
        host: the address to listen at; any but this machine's own needs a token.
        token: what clients have to show, at least 16 characters; $ALX_TOKEN is taken as well.
        cors: origins such as http://panel.example:8080 whose pages may use the server, too.
        demo: add an experiment with a simulated bench that measures a point every other second.
    """
    try:
        from alx.serve.server import run  # the extra is only needed here
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "anyio"):
            raise
        raise ValueError("alx serve needs the extra serve: pip install -e '.[serve]'") from None
    token = token if token is not None else os.environ.get("ALX_TOKEN")
    _check(host, token)
    cache.enable()
    logging.basicConfig(format="%(message)s")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(dir, host, port, token, cors, demo))


def _check(host: str, token: str | None) -> None:
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise ValueError(f"--token must have at least {SHORTEST_TOKEN} printable ASCII characters")
    if token is None and not _is_local(host):
        raise ValueError(
            f"--host {host} can be reached from other machines, so it needs --token: "
            "whoever knows the token can read, change and delete all experiments"
        )


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
