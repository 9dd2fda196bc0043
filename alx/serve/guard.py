"""Around every request: who may ask, how much may come, and what is said when something is wrong.

Without a token the server trusts whoever reaches it on this machine, and a page of another site in the
operator's browser must not be such a one: requests with a foreign Origin or Host are refused.
"""

import hmac
import json
import logging
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alx.serve.shapes import MAX_BODY

__all__ = ["Guard", "TooLargeError", "answer", "refusal"]

LOCAL = ("127.0.0.1", "localhost", "::1")
CSP = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
}


class TooLargeError(Exception):
    """The body of a request is larger than allowed."""


def answer(value: object, status: int = 200) -> Response:
    """A value as JSON."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


def refusal(status: int, sentence: str) -> Response:
    """One sentence; only its first line, and not of any length."""
    return answer({"error": " ".join(sentence.split())[:500]}, status)


class Guard:
    """ASGI middleware.

    Args:
        app: what is guarded.
        token: what clients have to show, or None.
        origins: origins of pages that may use the server besides its own.
    """

    def __init__(self, app: ASGIApp, token: str | None, origins: Iterable[str]):
        self.app, self.token, self.origins = app, token, frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        origin = headers.get("origin", "")
        extra = HEADERS | (_shared(origin) if origin in self.origins else {})
        begun, size = False, 0

        async def sent(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                more = [(name.encode(), value.encode("latin-1")) for name, value in extra.items()]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        async def received() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MAX_BODY:
                raise TooLargeError
            return message

        try:
            wrong = self._refused(scope, headers)
            await (wrong or self.app)(scope, received, sent)
        except TooLargeError:
            if not begun:
                large = refusal(413, f"the body is larger than {MAX_BODY} bytes, which is the limit")
                large.headers["connection"] = "close"
                await large(scope, receive, sent)
        except Exception:
            logging.getLogger("alx").exception("a request failed")
            if not begun:
                text = "something went wrong inside the server, whose log says what"
                await refusal(500, text)(scope, receive, sent)

    def _refused(self, scope: Scope, headers: dict[str, str]) -> Response | None:
        origin, host = headers.get("origin"), headers.get("host", "")
        if origin is not None and origin not in self.origins and urlsplit_host(origin) != host:
            return refusal(403, "pages of other sites may not use this server; alx serve --cors allows one")
        if scope["method"] == "OPTIONS":
            return Response(status_code=204)
        if self.token is None and name_of(host) not in LOCAL:
            return refusal(403, "this server is for its own machine: ask for it as 127.0.0.1 or localhost")
        if self.token is not None and scope["path"].startswith("/v1/"):
            shown = headers.get("authorization", "").encode("latin-1", "replace")
            if not hmac.compare_digest(shown, f"Bearer {self.token}".encode()):
                wrong = refusal(401, "this server needs the header Authorization: Bearer and its token")
                wrong.headers["www-authenticate"] = "Bearer"
                return wrong
        return None


def urlsplit_host(origin: str) -> str:
    """Host and port of an origin."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def name_of(host: str) -> str:
    """A Host header without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _shared(origin: str) -> dict[str, str]:
    """What a browser must be told before it lets a page of this origin in."""
    return {
        "access-control-allow-origin": origin,
        "access-control-allow-headers": "authorization, content-type, idempotency-key",
        "access-control-allow-methods": "GET, POST, DELETE",
        "vary": "origin",
    }
