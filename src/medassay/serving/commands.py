"""`medassay serve-scores`: parse, call, print."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from medassay.errors import InputError, MissingExtra

KEY = "MEDASSAY_SERVE_KEY"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def add_commands(app: typer.Typer) -> None:
    """Put the command on the program."""
    app.command("serve-scores")(serve_scores)


def serve_scores(
    metrics: Annotated[str, typer.Option(help="Comma-separated; `medassay metrics` lists them.")] = "",
    models: Annotated[str, typer.Option(help="embedded, paper, or a folder or file of models.")] = "embedded",
    references: Annotated[str, typer.Option(help="Several references a case: best or mean.")] = "best",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8770,
    workers: Annotated[int | None, typer.Option(min=0, help="Processes; default: one a core. 0: none.")] = None,
    room: Annotated[int, typer.Option(min=1, help="Cases that may wait; more are refused (429).")] = 8192,
    batch: Annotated[int, typer.Option(min=1, help="Cases scored together.")] = 256,
) -> None:
    """Serve scores over HTTP: metrics kept warm for rewards and dashboards."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("fastapi", "uvicorn")):
        raise MissingExtra("the score server", "serve")
    key = os.environ.get(KEY) or None
    if host not in LOOPBACK and key is None:
        raise InputError(f"--host {host} can be reached by others: set {KEY} to a key that clients must show")
    from medassay.cores import cores, one_thread_for_blas

    one_thread_for_blas()
    from medassay.cli import say
    from medassay.metrics.registry import DEFAULT
    from medassay.scorer import Scorer
    from medassay.serving.app import create_app, serve
    from medassay.serving.limits import Limits

    scorer = Scorer(
        metrics or ",".join(DEFAULT),
        models=models,
        references=_references(references),
        workers=cores() if workers is None else workers,
    )
    scorer.warm()
    if host not in LOOPBACK:
        say("warning: texts and the key travel unencrypted; put a TLS proxy in front")
    shown = f"[{host}]" if ":" in host else host
    print(f"Serving {', '.join(metric.name for metric in scorer.metrics)} on http://{shown}:{port}", flush=True)
    print(f"What can be asked: http://{shown}:{port}/docs. Stop with Ctrl+C.", flush=True)
    serve(create_app(scorer, Limits(room=room, batch=batch), key=key), host, port)


def _references(asked: str) -> Literal["best", "mean"]:
    if asked == "best":
        return "best"
    if asked == "mean":
        return "mean"
    raise InputError(f"--references: '{asked}' is neither best nor mean")
