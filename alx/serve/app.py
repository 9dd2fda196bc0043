"""The server: every address, what it takes and answers, and the page."""

import dataclasses
from collections.abc import Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Match, Route

from alx.serve import answers, openapi, shapes
from alx.serve.experiment import ConflictError, Experiment
from alx.serve.guard import Guard, answer, refusal
from alx.serve.schema import check, parse
from alx.serve.store import MissingError, Store

__all__ = ["ENDPOINTS", "Call", "Endpoint", "make_app"]

PAGE = Path(__file__).with_name("page")
PAGES = {"/": "index.html"} | {f"/{path.name}": path.name for path in PAGE.glob("*.*")}
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
ALL = "/v1/experiments"
ONE = ALL + "/{id}"


@dataclasses.dataclass(frozen=True)
class Call:
    """A request whose body has been checked."""

    store: Store
    id: str
    body: Any
    key: str | None
    query: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """One address.

    Attributes:
        method: GET, POST or DELETE.
        path: with ``{id}`` for the experiment.
        name: its name in the OpenAPI document.
        summary: what it does.
        handle: does it, and returns a value for JSON, or a response.
        answer: schema of that value, or the media type of another response.
        body: schema of the body, the media type of a text, or None.
        status: of a good answer.
    """

    method: str
    path: str
    name: str
    summary: str
    handle: Callable[[Call], Awaitable[Any]]
    answer: dict | str
    body: dict | str | None = None
    status: int = 200


async def _list(call: Call) -> dict:
    found = []
    for name in call.store.ids:
        try:
            found.append(await call.store.summary(name))
        except MissingError:  # deleted meanwhile
            continue
    return {"experiments": found}


async def _create(call: Call) -> dict:
    name = await call.store.create(call.body, call.key)
    return await call.store.use(name, answers.state)


async def _delete(call: Call) -> dict:
    if call.id not in call.store.ids:
        raise MissingError
    if call.body["confirm"] != call.id:
        raise ValueError("confirm must be the id of the experiment that is to be deleted")
    await call.store.delete(call.id)
    return {"deleted": call.id}


async def _curve(call: Call) -> dict:
    await call.store.ready(call.id, "model")
    counts = await call.store.use(call.id, answers.curve_counts)
    outputs = []
    for p, numbers in enumerate(counts):
        # One at a time, so that a client who asks does not wait for the whole curve.
        rows = [await call.store.use(call.id, _curve_point(p, n)) for n in numbers]
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
        outputs.append(dict(zip(("points", "rmse", "low", "high"), (numbers, *columns), strict=True)))
    return {"outputs": outputs}


def _curve_point(p: int, n: int) -> Callable[[Experiment], list]:
    return lambda experiment: answers.curve_point(experiment, p, n)


async def _csv(call: Call) -> Response:
    text = await call.store.use(call.id, answers.csv)
    name = f"attachment; filename={call.id}.csv"
    return PlainTextResponse(text, media_type="text/csv", headers={"content-disposition": name})


async def _events(call: Call) -> Response:
    if call.store.hub.full:
        return refusal(503, "too many clients watch this server already")
    only = call.query.get("experiment")
    return StreamingResponse(call.store.hub.stream(only), media_type="text/event-stream")


async def _predict(call: Call) -> dict:
    await call.store.ready(call.id, "model")
    return await call.store.use(call.id, lambda experiment: answers.predict(experiment, call.body))


async def _openapi(call: Call) -> dict:
    del call
    return openapi.document(ENDPOINTS)


def _reads(function: Callable[[Experiment], Any], needs: str = "") -> Callable[[Call], Awaitable[Any]]:
    async def handle(call: Call) -> Any:
        if needs:
            await call.store.ready(call.id, needs)
        return await call.store.use(call.id, function)

    return handle


def _changes(action: str) -> Callable[[Call], Awaitable[Any]]:
    async def handle(call: Call) -> Any:
        if action == "ask":
            await call.store.ready(call.id, "ask")
        return await call.store.change(call.id, action, call.body, call.key)

    return handle


_SHAPES = {  # of what changes an experiment: body, answer, summary
    "ask": (shapes.ASK, shapes.ASKED, "Where to measure next."),
    "tell": (shapes.TELL, shapes.CHANGED, "What was measured."),
    "fail": (shapes.FAIL, shapes.CHANGED, "A measurement failed."),
    "forget": (shapes.FORGET, shapes.CHANGED, "Give up pending points."),
    "extend": (shapes.EXTEND, shapes.CHANGED, "More budget."),
}
_state, _upcoming = _reads(answers.state), _reads(answers.upcoming, "ask")
_error, _model = _reads(answers.error, "model"), _reads(answers.model, "model")

ENDPOINTS = (
    Endpoint("GET", "/v1/openapi.json", "openapi", "This description.", _openapi, {"type": "object"}),
    Endpoint("GET", ALL, "list", "All experiments.", _list, shapes.LIST),
    Endpoint("POST", ALL, "create", "A new experiment.", _create, shapes.STATE, shapes.CREATE, 201),
    Endpoint("GET", ONE, "state", "One experiment: points and pending.", _state, shapes.STATE),
    Endpoint("DELETE", ONE, "delete", "Remove an experiment.", _delete, shapes.DELETED, shapes.DELETE),
    *(
        Endpoint("POST", f"{ONE}/{name}", name, summary, _changes(name), given, body)
        for name, (body, given, summary) in _SHAPES.items()
    ),
    Endpoint("GET", f"{ONE}/next", "next", "What ask would answer.", _upcoming, shapes.NEXT),
    Endpoint("POST", f"{ONE}/predict", "predict", "The model.", _predict, shapes.PREDICTED, shapes.PREDICT),
    Endpoint("GET", f"{ONE}/error", "error", "The estimated error.", _error, shapes.ERROR),
    Endpoint("GET", f"{ONE}/curve", "curve", "The error as points came.", _curve, shapes.CURVE),
    Endpoint("GET", f"{ONE}/model", "model", "Which inputs matter.", _model, shapes.MODEL),
    Endpoint("GET", f"{ONE}/csv", "csv", "The points as CSV.", _csv, "text/csv"),
    Endpoint("POST", f"{ONE}/csv", "tell_csv", "Tell a CSV.", _changes("csv"), shapes.CHANGED, "text/csv"),
    Endpoint("GET", "/v1/events", "events", "Changes, as they happen.", _events, "text/event-stream"),
)


def make_app(store: Store, token: str | None = None, origins: Iterable[str] = ()) -> Starlette:
    """The whole application on a store; see ``Guard`` for the rest."""
    routes = [Route(each.path, _route(store, each), methods=[each.method]) for each in ENDPOINTS]
    routes += [Route(path, _page(name), methods=["GET"]) for path, name in PAGES.items()]

    @asynccontextmanager
    async def lifespan(_: Starlette):
        yield
        await store.close()

    errors = {HTTPException: _http_error}
    guard = Middleware(Guard, token=token, origins=origins)
    app = Starlette(routes=routes, middleware=[guard], exception_handlers=errors, lifespan=lifespan)  # pyright: ignore
    app.router.redirect_slashes = False  # an address is right or wrong
    return app


def _route(store: Store, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        try:
            body, key = await _body(request, endpoint.body)
            name = request.path_params.get("id", "")
            result = await endpoint.handle(Call(store, name, body, key, dict(request.query_params)))
        except MissingError:
            return refusal(404, "there is no experiment of this id")
        except ConflictError as error:
            return refusal(409, str(error))
        except ValueError as error:
            return refusal(400, str(error))
        except ClientDisconnect:
            return Response(status_code=400)
        return result if isinstance(result, Response) else answer(result, endpoint.status)

    return handle


async def _body(request: Request, wanted: dict | str | None) -> tuple[Any, str | None]:
    """The body as it was promised, and the id of the request."""
    key = request.headers.get("idempotency-key")
    if key is not None:
        check(shapes.REQUEST_ID, key, "Idempotency-Key")
    if wanted is None:
        return None, key
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    expected = wanted if isinstance(wanted, str) else "application/json"
    if kind != expected:
        raise HTTPException(415, f"the Content-Type must be {expected}, got {kind[:80] or 'none'}")
    data = await request.body()
    if isinstance(wanted, str):
        try:
            return {"text": data.decode("utf-8-sig")}, key
        except UnicodeDecodeError:
            raise ValueError("the body must be text in UTF-8") from None
    body = parse(data)
    check(wanted, body)
    own = body.pop("request_id", None)
    if None not in (own, key) and own != key:
        raise ValueError("request_id and Idempotency-Key differ: give one of them")
    return body, own if key is None else key


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = {404: "there is nothing at this address", 405: "this address does not know this method"}
    refused = refusal(error.status_code, known.get(error.status_code, error.detail))
    if error.status_code == 405:
        fitting = [each for each in request.app.routes if each.matches(request.scope)[0] != Match.NONE]
        refused.headers["allow"] = ", ".join(sorted({method for each in fitting for method in each.methods}))
    return refused


def _page(name: str) -> Callable[[Request], Awaitable[Response]]:
    data, kind = (PAGE / name).read_bytes(), KINDS[Path(name).suffix]

    async def handle(_: Request) -> Response:
        return Response(data, media_type=kind)

    return handle
