"""The commands, one file per command or group: parse options, call the rooms above, print.

Only `typer`, `medassay.console` and `medassay.errors` are imported at the top of these files: `medassay --help`
reads them all. `variants` holds what the commands share that change texts, `preferences` what `validate` does with
judged pairs.
"""

__all__ = [
    "annotate",
    "baseline",
    "check",
    "compare",
    "demo",
    "extract",
    "metrics",
    "models",
    "perturb",
    "score",
    "serve_scores",
    "stress",
    "train",
    "trust",
    "trust_study",
    "validate",
]
