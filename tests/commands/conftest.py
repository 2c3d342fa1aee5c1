"""The commands of `annotate` and `baseline`, run in this process."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from medassay.commands.annotate import annotate_app
from medassay.commands.baseline import baseline_app


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Runs a command line in the temporary folder; an error raises."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    app = typer.Typer()
    app.add_typer(annotate_app)
    app.add_typer(baseline_app)

    def run(*words: str) -> str:
        result = CliRunner().invoke(app, list(words))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.output

    return run
