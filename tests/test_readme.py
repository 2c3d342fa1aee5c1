"""The README keeps its word: every snippet runs, its tables are the registry's and the benchmark's, every link leads
somewhere.

`python tests/test_readme.py` (`make readme`) writes the two tables anew.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from medassay.metrics.base import Metric
from medassay.metrics.registry import BUILT_IN, metric_class
from medassay.report.which_metric import which_metric

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
TABLE = re.compile(r"(?<=checked by the tests -->\n).*?(?=<!-- end of metrics -->)", re.S)
BENCH = re.compile(r"(?<=from the benchmark -->\n).*?(?=<!-- end of benchmark -->)", re.S)
SHOWN = {"pathology report": "pathology reports", "note section": "notes", "radiology report": "radiology reports"}
BENCH_METRICS = ("fidelity", "risk", "facts", "hare", "rougeL", "bertscore", "bleu")
# What the two set-up blocks may say: they install or test the project itself and are not run from its tests.
SETUP = re.compile(r"make (demo|test)|pip install (?:\. packages/models packages/models-reader|'\.(\[\w+\])')")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(encoding="utf-8"), re.S | re.M)


def number(bound: float | None) -> str:
    return "…" if bound is None else f"{bound:g}"


def table() -> str:
    lines = ["| metric | what it measures | range | better | needs |", "|---|---|---|---|---|"]
    for name in BUILT_IN:
        metric: type[Metric] = metric_class(name)
        better = "higher" if metric.higher_is_better else "lower"
        span = f"{number(metric.bounds[0])} to {number(metric.bounds[1])}"
        lines.append(f"| `{name}` | {metric.summary} | {span} | {better} | {', '.join(sorted(metric.needs))} |")
    return "\n".join(lines) + "\n"


def bench_table() -> str:
    """How often a metric prefers a faithful paraphrase to a version with one error, by kind of text."""
    kinds = {kind["kind"]: {row["metric"]: row for row in kind["rows"]} for kind in which_metric()["kinds"]}
    lines = [f"| metric | {' | '.join(SHOWN.values())} |", "|---|" + "---|" * len(SHOWN)]
    for metric in BENCH_METRICS:
        rows = [kinds[kind].get(metric) for kind in SHOWN]
        shares = ["–" if row is None else f"{100 * row['sensitivity'][0]:.0f} %" for row in rows]
        lines.append(f"| `{metric}` | {' | '.join(shares)} |")
    return "\n".join(lines) + "\n"


def test_the_benchmark_table_is_the_benchmarks() -> None:
    found = BENCH.search(README.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0] == bench_table(), "the README's benchmark table is out of date: run `make readme`"


def test_the_metric_table_is_the_registry() -> None:
    found = TABLE.search(README.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0] == table(), "the README's metric table is out of date: run `make readme`"


@pytest.mark.snippets
def test_every_snippet_runs(tmp_path: Path) -> None:
    """All of them, in order, in one empty folder, as a reader would."""
    tools = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONWARNINGS": "error::DeprecationWarning",
    }
    commands = [["bash", "-euo", "pipefail", "-c", block] for block in blocks("bash")]
    programs = [[sys.executable, "-c", block] for block in blocks("python")]
    assert len(commands) >= 5
    assert len(programs) >= 2
    for command in [*commands, *programs]:
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
        if command is commands[0]:
            keep_first_cases(tmp_path / "demo-out", 4)
    made = "demo-out/report.html scores.csv report.html reports.csv reports.html entities.jsonl entities.html"
    made += " stress.html texts.csv study.yaml notes.parquet result.jsonl result.html statements.jsonl statements.html"
    for name in made.split():
        assert (tmp_path / name).stat().st_size > 0


def keep_first_cases(folder: Path, count: int) -> None:
    """Shorten the demonstration's case files, so that the commands after it read few texts."""
    for path in (folder / "notes.csv", folder / "pathology.csv"):
        with path.open(encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream)
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([header, *rows[: 2 * count]])


def test_set_up_lines_name_what_exists() -> None:
    lines = [line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    assert lines
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for line in lines:
        match = SETUP.fullmatch(line)
        assert match, line
        if match[2]:
            assert f"\n{match[2][1:-1]} = [" in pyproject


def test_no_other_kind_of_snippet() -> None:
    languages = set(re.findall(r"^```(\w+)", README.read_text(encoding="utf-8"), re.M))
    assert languages <= {"sh", "bash", "python"}


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]
)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (path.parent / target).exists(), f"{page} links to {target}"


def test_the_index_leads_to_every_page() -> None:
    folder = ROOT / "docs"
    linked = set(re.findall(r"\]\(([^)#\s]+)", (folder / "index.md").read_text(encoding="utf-8")))
    pages = {str(path.relative_to(folder)) for path in folder.glob("**/*.md")} - {"index.md"}
    assert pages - linked == set()


if __name__ == "__main__":
    text = TABLE.sub(lambda _: table(), README.read_text(encoding="utf-8"))
    README.write_text(BENCH.sub(lambda _: bench_table(), text), encoding="utf-8")
