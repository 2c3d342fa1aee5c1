"""`medassay metrics`: the list of metrics, or one metric's card."""

from __future__ import annotations

from typing import Annotated

import typer

from medassay import console
from medassay.errors import MedassayError


def metrics(
    name: Annotated[
        str | None, typer.Argument(help="A metric, for its card.", autocompletion=console.complete_metrics)
    ] = None,
) -> None:
    """List the metrics, or print one metric's card."""
    from rich.console import Console

    from medassay.metrics.registry import metric_class, names
    from medassay.report import print_metric_card, print_metric_list

    if name is not None:
        print_metric_card(Console(), name, metric_class(name))
        return
    listed = []
    for known in names():
        try:
            listed.append((known, metric_class(known)))
        except MedassayError as error:  # a broken plug-in must not hide the others
            console.say(str(error))
    print_metric_list(Console(), listed)
