"""Metrics kept warm: `Scorer` for many small calls, adapters to other libraries, the score server (extra `serve`)."""

from medassay.serving.scorer import Scorer

__all__ = ["Scorer"]
