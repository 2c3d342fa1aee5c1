"""The page at /docs, drawn from the application's OpenAPI description. One file, without scripts."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a;
  background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
code, pre { font: 14px/1.5 ui-monospace, monospace; } pre { background: #f3f3f3; padding: .75rem; overflow: auto; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
  border-bottom: 1px solid #d0d0d0; overflow-wrap: anywhere; } .method { font-weight: 700; }
@media (prefers-color-scheme: dark) { body { background: #16181c; color: #e8e8e8; } pre { background: #24272d; }
  th, td { border-color: #444; } a { color: #8ab4f8; } }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

HEADERS = {
    "content-security-policy": (
        f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
"""Nothing is loaded from anywhere, not even from here: the page is one file."""

_EXAMPLE = {"candidates": ["No tumor seen."], "references": ["No tumour is seen."]}


def docs_page(description: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]], *, key: bool) -> str:
    """The page, from the OpenAPI description and the metrics as /metrics gives them. key: whether one is wanted."""
    info = description["info"]
    title = escape(f"{info['title']} {info['version']}")
    operations = [
        (method.upper(), path, operation)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = description.get("components", {}).get("schemas", {})
    parts = [
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1><p>{escape(info.get('description', ''))}</p>",
        '<p>For programs: <a href="/openapi.json">openapi.json</a>.</p>',
        *_metrics(metrics),
        *(piece for operation in operations for piece in _operation(*operation, schemas=schemas)),
        f"<h2>Example</h2><pre>{escape(_example(key))}</pre></main></body></html>",
    ]
    return "\n".join(parts)


def _metrics(metrics: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "<h2>Metrics of this server</h2>"
    rows = [[metric["name"], metric["summary"], ", ".join(metric["needs"]), metric["signature"]] for metric in metrics]
    yield _table(["metric", "what it says", "needs", "signature"], rows)


def _operation(method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    yield f'<h2><span class="method">{escape(method)}</span> <code>{escape(path)}</code></h2>'
    yield f"<p>{escape(operation.get('description') or operation.get('summary', ''))}</p>"
    asked = operation.get("requestBody")
    if asked:
        fields = asked["content"]["application/json"]["schema"]
        required = set(fields.get("required", ()))
        rows = [
            [name, _kind(field), "yes" if name in required else "no", field.get("description", "")]
            for name, field in fields["properties"].items()
        ]
        yield "<h3>Body (JSON)</h3>" + _table(["field", "type", "needed", ""], rows)
    rows = [[status, answer.get("description", "")] for status, answer in sorted(operation["responses"].items())]
    yield "<h3>Answers</h3>" + _table(["status", ""], rows)
    answered = _schema(operation["responses"].get("200", {}), schemas)
    if answered:
        rows = [[name, _kind(field), field.get("description", "")] for name, field in answered.items()]
        yield _table(["field of the answer", "type", ""], rows)


def _schema(answer: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of an answer, or of each of a list of them; none where its form is not described."""
    schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
    schema = schema.get("items", schema)
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    fields: Mapping[str, Any] = schemas.get(name, {}).get("properties", {})
    return fields


def _kind(field: Mapping[str, Any]) -> str:
    """A JSON type in words.

    >>> _kind({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    'list of string, or null'
    """
    if "anyOf" in field:
        return ", or ".join(_kind(choice) for choice in field["anyOf"])
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if field.get("type") == "array":
        return f"list of {_kind(field['items'])}" if "items" in field else "list"
    if isinstance(field.get("additionalProperties"), Mapping):
        return f"object of {_kind(field['additionalProperties'])}"
    return str(field.get("type", "any"))


def _example(key: bool) -> str:
    header = ' -H "authorization: Bearer $KEY"' if key else ""
    return f"curl -H 'content-type: application/json'{header} \\\n  -d '{json.dumps(_EXAMPLE)}' http://HOST:PORT/score"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows]
    return (
        f"<table><tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"
        + "".join(f"<tr>{line}</tr>" for line in lines)
        + "</table>"
    )
