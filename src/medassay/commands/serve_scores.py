"""`medassay serve-scores`: scores over HTTP."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from medassay import console
from medassay.errors import InputError

KEY = "MEDASSAY_SERVE_KEY"


def serve_scores(
    metrics: console.Metrics = "",
    models: console.Models = "embedded",
    references: console.References = "best",
    host: console.Host = "127.0.0.1",
    port: console.Port = 8770,
    workers: console.Workers = None,
    room: Annotated[int, typer.Option(min=1, help="Cases that may wait; more are refused (429).")] = 8192,
    batch: Annotated[int, typer.Option(min=1, help="Cases scored together.")] = 256,
    case_timeout: Annotated[
        float, typer.Option(min=0, help="Seconds a metric may take for one case; one that takes longer fails. 0: any.")
    ] = 60.0,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A further name under which the server may be asked; may be repeated.")
    ] = None,
) -> None:
    """Serve scores over HTTP: metrics kept warm for rewards and dashboards."""
    console.need_extra("the score server", "serve", "fastapi", "uvicorn")
    key = os.environ.get(KEY) or None
    if host not in console.LOOPBACK and key is None:
        raise InputError(f"--host {host} can be reached by others: set {KEY} to a key that clients must show")
    console.check_port(host, port)
    from medassay.cores import cores, one_thread_for_blas

    one_thread_for_blas()
    from medassay.metrics.registry import DEFAULT
    from medassay.serving.app import create_app, serve
    from medassay.serving.hosts import allowed_names
    from medassay.serving.limits import Limits
    from medassay.serving.scorer import Scorer

    scorer = Scorer(
        metrics or ",".join(DEFAULT),
        models=models,
        references=_references(references),
        workers=cores() if workers is None else workers,
        case_timeout=case_timeout or None,
    )
    console.say_unlimited(case_timeout or None, scorer.metrics)
    scorer.warm()
    if host not in console.LOOPBACK:
        console.say("warning: texts and the key travel unencrypted; put a TLS proxy in front")
    shown = f"[{host}]" if ":" in host else host
    print(f"Serving {', '.join(metric.name for metric in scorer.metrics)} on http://{shown}:{port}", flush=True)
    print(f"What can be asked: http://{shown}:{port}/docs. Stop with Ctrl+C.", flush=True)
    limits, hosts = Limits(capacity=room, batch=batch), allowed_names(host, allow_host or ())
    serve(create_app(scorer, limits, key=key, hosts=hosts), host, port)


def _references(text: str) -> Literal["best", "mean"]:
    if text == "best":
        return "best"
    if text == "mean":
        return "mean"
    raise InputError(f"--references: '{text}' is neither best nor mean")
