"""The OpenAPI document, made from the very table and schemas that the server works by."""

from collections.abc import Iterable
from typing import Any

from alx.serve import shapes
from alx.version import __version__

__all__ = ["document"]

REFUSALS = {
    "400": "refused, and nothing has changed",
    "401": "the token is missing or wrong",
    "403": "a page or an address of another site",
    "404": "no such experiment",
    "409": "the request id was used for another request",
    "413": "the body is too large",
    "415": "the body is of another type",
    "503": "too many clients watch",
}
ABOUT = "Where to measure next, what was learned, is it enough: alx.Learner over HTTP."


def document(endpoints: Iterable[Any]) -> dict:
    """OpenAPI 3.1."""
    paths: dict[str, dict] = {}
    for each in endpoints:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    bearer = {"type": "http", "scheme": "bearer", "description": "when the server has a token"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "alx serve", "version": __version__, "description": ABOUT},
        "paths": paths,
        "components": {"securitySchemes": {"token": bearer}},
        "security": [{}, {"token": []}],
    }


def _operation(endpoint: Any) -> dict:
    good = {"description": endpoint.summary, "content": _content(endpoint.answer)}
    refused = _content(shapes.REFUSED)
    refusals = {code: {"description": text, "content": refused} for code, text in REFUSALS.items()}
    found: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "responses": {str(endpoint.status): good} | refusals,
    }
    parameters = []
    if "{id}" in endpoint.path:
        parameters.append(_parameter("id", "path", True))
    if endpoint.method == "POST" and endpoint.name != "predict":
        parameters.append(_parameter("Idempotency-Key", "header", False, shapes.REQUEST_ID))
    if endpoint.name == "events":
        parameters.append(_parameter("experiment", "query", False))
    if parameters:
        found["parameters"] = parameters
    if endpoint.body is not None:
        found["requestBody"] = {"required": True, "content": _content(endpoint.body)}
    return found


def _parameter(name: str, place: str, required: bool, schema: dict | None = None) -> dict:
    return {"name": name, "in": place, "required": required, "schema": schema or {"type": "string"}}


def _content(what: dict | str) -> dict:
    if isinstance(what, str):
        return {what: {"schema": {"type": "string"}}}
    return {"application/json": {"schema": what}}
