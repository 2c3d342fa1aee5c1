"""Many annotators at once and a server killed under them: a short run of the benchmark, on both databases."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.load
def test_under_load_and_kills_nothing_fails_and_nothing_is_lost(database):
    words = [sys.executable, "-m", "benchmarks.human_load", "--database", database]
    words += ["--annotators", "50", "--seconds", "10", "--kills", "5"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout)
    assert figures["saves"] > 100 and figures["saves_under_kills"] > 50
    assert figures["lost_replies"] == 0, "without a kill every request is answered"
    assert (figures["acknowledged_but_missing"], figures["recorded_twice"], figures["audit_problems"]) == (0, 0, 0)
