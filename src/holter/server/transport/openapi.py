"""The OpenAPI 3.1 document, made from the route table."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from holter.server.security.gate import BYTES, ZSTD
from holter.server.transport.problems import Problem
from holter.server.transport.routing import PREFIX, Route
from holter.version import __version__

_REF = "#/components/schemas/{name}"
_ERRORS = {
    "400": "the request can't be understood",
    "401": "no key, or one that is not known",
    "403": "the key may not do this, or the request comes from another site",
    "404": "there is no such thing",
    "4XX": "something else about the request is wrong",
    "5XX": "nothing can be taken in at the moment, or a fault of holter's own",
}


def make_document(routes: Sequence[Route]) -> dict[str, Any]:
    """The whole document as JSON would have it."""
    types = [route.asked for route in routes] + [route.result for route in routes if route.result is not bytes]
    _, schemas = msgspec.json.schema_components([*dict.fromkeys(types), Problem], ref_template=_REF)
    paths: dict[str, Any] = {}
    for route in routes:
        path = PREFIX + re.sub(r":\w+}", "}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Holter", "version": __version__, "license": {"name": "Apache-2.0"}},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    summary = (route.answer.__doc__ or "").partition("\n")[0].rstrip(".")
    operation: dict[str, Any] = {
        "operationId": route.answer.__name__,
        "summary": summary,
        "description": route.asked.__doc__ or "",
        "tags": [route.answer.__module__.rpartition(".")[2]],
        "parameters": _parameters(route, schemas),
        "responses": _responses(route),
        "security": [] if route.needs == "nothing" else [{"key": []}],
        "x-holter-scope": route.needs,
    }
    if route.body != "none":
        operation["requestBody"] = _body(route, schemas)
    return operation


def _parameters(route: Route, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for field in msgspec.structs.fields(route.asked):
        is_in_path = field.encode_name in route.path_names
        if not is_in_path and route.body == "json":
            continue
        schema = schemas[route.asked.__name__]["properties"][field.encode_name]
        found.append(
            {
                "name": field.encode_name,
                "in": "path" if is_in_path else "query",
                "required": is_in_path or field.required,
                "schema": schema,
            }
        )
    return found


def _body(route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    if route.body == "bytes":
        packed = {"schema": {"type": "string", "format": "binary"}}
        return {"required": True, "content": {BYTES: packed, ZSTD: packed}}
    whole = schemas.get(route.asked.__name__, {"type": "object"})
    names = route.path_names
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: each for name, each in whole.get("properties", {}).items() if name not in names},
        "required": [name for name in whole.get("required", []) if name not in names],
    }
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _responses(route: Route) -> dict[str, Any]:
    if route.result is bytes:
        content: dict[str, Any] = {route.media: {"schema": {"type": "string", "format": "binary"}}}
    else:
        content = {"application/json": {"schema": {"$ref": _REF.format(name=route.result.__name__)}}}
    problem = {"application/json": {"schema": {"$ref": _REF.format(name="Problem")}}}
    failures = {status: {"description": text, "content": problem} for status, text in _ERRORS.items()}
    return {"2XX": {"description": "the answer", "content": content}, "304": {"description": "as before"}, **failures}
