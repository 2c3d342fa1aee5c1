"""Odd scores, damaged stores, closed streams, names that are too long: one case is lost, or one line tells what is."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.adversarial.commands import NOTE, read_csv, write_csv, write_inputs

from medassay.engine.store import Store
from medassay.errors import MedassayError
from medassay.metrics.registry import load_metric

SOURCE = """
import sys
import numpy as np
from medassay import Metric, Score

class Odd(Metric):
    name, summary, defined = "odd", "whatever the candidate asks for", "here"
    needs, bounds = frozenset({"candidate"}), (None, None)
    parts, labels = ("a",), ("word",)

    def measure(self, cases, evidence=False):
        return [SCORES[case.candidate]() if case.candidate in SCORES else Score(1.0) for case in cases]

def leave():
    sys.exit(0)

def unheard():
    raise GeneratorExit

def missing():
    import a_module_that_is_not_there

def full():
    raise MemoryError

def silent():
    class Silent(Exception):
        def __str__(self):
            raise ValueError
    raise Silent

SCORES = {
    "sys.exit": leave,
    "GeneratorExit": unheard,
    "ImportError": missing,
    "MemoryError": full,
    "an exception that cannot say what it is": silent,
    "numpy": lambda: Score(np.float32(0.5), parts={"a": np.float64(0.25)}, statistics=(np.float32(0.5),)),
    "numpy evidence": lambda: Score(0.5, evidence={"a": np.float32(1), "b": np.arange(2), "c": {2, 1}, 3: "key"}),
    "huge": lambda: Score(1e308, parts={"a": 1e308}),
    "whole number beyond all floats": lambda: Score(10**400),
    "set": lambda: Score({1.0}),
    "text": lambda: Score("0.5"),
    "complex": lambda: Score(1 + 2j),
    "bytes in evidence": lambda: Score(0.5, evidence={"a": b"x"}),
    "lone surrogate in evidence": lambda: Score(0.5, evidence={"a": "\\ud800"}),
    "lone surrogate in a label": lambda: Score(0.5, labels={"word": "a\\ud800"}),
    "lone surrogate in a reason": lambda: Score.none("why \\ud800"),
    "number as a label": lambda: Score(0.5, labels={"word": 7}),
    "set as a part": lambda: Score(0.5, parts={"a": {1}}),
    "list of parts": lambda: Score(0.5, parts=[1.0]),
    "words as statistics": lambda: Score(0.5, statistics=("a",)),
    "other statistics": lambda: Score(0.5, statistics=(1.0, 2.0)),
    "nan": lambda: Score(float("nan")),
    "None": lambda: None,
}
"""

FAILED = {
    "sys.exit": "SystemExit: 0",
    "GeneratorExit": "GeneratorExit",
    "ImportError": "ModuleNotFoundError: No module named 'a_module_that_is_not_there'",
    "MemoryError": "MemoryError: there is not enough memory",
    "an exception that cannot say what it is": "Silent",
    "whole number beyond all floats": "OverflowError: int too large to convert to float",
    "set": "TypeError: must be real number, not set",
    "text": "TypeError: must be real number, not str",
    "complex": "TypeError: must be real number, not complex",
    "bytes in evidence": "TypeError: evidence is not plain JSON (Object of type bytes is not JSON serializable)",
    "set as a part": "TypeError: must be real number, not set",
    "list of parts": "AttributeError: 'list' object has no attribute 'values'",
    "words as statistics": "TypeError: must be real number, not str",
    "other statistics": "ValueError: 2 statistics, and 1 for the cases before",
    "nan": "ValueError: a score must be finite, not nan",
    "None": "TypeError: returned NoneType for a case, not a Score",
}
"""By candidate, why its case fails; those that are not here have a score, or a reason that they have none."""
SCORED = {
    "plain": "1.0",
    "numpy": "0.5",
    "numpy evidence": "0.5",
    "huge": "1e+308",
    "lone surrogate in evidence": "0.5",
    "lone surrogate in a label": "0.5",
    "lone surrogate in a reason": "",
    "number as a label": "0.5",
}

_fresh = count()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"odd_{next(_fresh)}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_odd_scores_cost_their_own_case_alone(
    module: str, tmp_path: Path, medassay: Callable, workers: int, ending: str
) -> None:
    asked = [*SCORED, *FAILED]
    write_csv(tmp_path / "c.csv", [["id", "candidate"], *([k, text] for k, text in enumerate(asked))])
    outputs = ["--out", f"o.{ending}", "--report", "r.html", "--workers", workers, "--resamples", 50]
    ran = medassay("score", "c.csv", "--metrics", f"py:{module}:Odd", *outputs)
    assert ran.code == 1, ran.err
    assert "Traceback" not in ran.err
    assert (tmp_path / "r.html").stat().st_size > 1000
    if ending == "csv":
        rows = read_csv(tmp_path / "o.csv")
        assert {text: row["odd"] for text, row in zip(asked, rows) if text in SCORED} == SCORED
        assert {text: row["odd.failed"] for text, row in zip(asked, rows) if text in FAILED} == FAILED
        assert rows[asked.index("lone surrogate in a reason")]["odd.unscored"] == "why \ufffd"
        assert rows[asked.index("lone surrogate in a label")]["word"] == "a\ufffd"
    elif ending == "jsonl":
        lines = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
        assert [line["odd.failed"] for line in lines] == [None] * len(SCORED) + list(FAILED.values())


def test_nothing_but_huge_scores(module: str, tmp_path: Path, medassay: Callable) -> None:
    rows = [[k // 2, "ab"[k % 2], "huge"] for k in range(6)]
    write_csv(tmp_path / "c.csv", [["id", "system", "candidate"], *rows])
    ran = medassay("score", "c.csv", "--metrics", f"py:{module}:Odd", "--out", "o.csv", "--report", "r.html")
    assert (ran.code, "Traceback" in ran.err) == (0, False), ran.err
    assert medassay("compare", "o.csv", "--resamples", "20").code == 0


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("raise MemoryError", "MemoryError: there is not enough memory"),
        ("import no_such_module_at_all", "No module named 'no_such_module_at_all'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def f(:", "SyntaxError: invalid syntax"),
    ],
)
def test_code_that_breaks_when_it_is_read(
    module: str, tmp_path: Path, medassay: Callable, code: str, message: str
) -> None:
    (tmp_path / f"{module}_broken.py").write_text(code)
    write_csv(tmp_path / "c.csv", [["id", "candidate"], [1, "a"]])
    ran = medassay("score", "c.csv", "--metrics", f"py:{module}_broken:f", "--out", "o.csv")
    assert ran.code == 2
    assert f"'py:{module}_broken:f' cannot be imported: {message}" in ran.err
    assert "Traceback" not in ran.err


def _with_statement(statement: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with sqlite3.connect(path) as db:
            db.execute(statement)
        db.close()

    return damage


def _scrambled(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = bytes((7 * byte + 13) % 256 for byte in content[4096:])
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        _scrambled,
        lambda path: path.write_bytes(path.read_bytes()[:5000]),
        lambda path: path.write_bytes(b"id,candidate\n" * 1000),
        _with_statement("ALTER TABLE scores RENAME COLUMN score TO other"),
    ],
    ids=["scrambled", "cut short", "another file", "another table"],
)
def test_a_damaged_store_is_named(tmp_path: Path, medassay: Callable, damage: Callable[[Path], None]) -> None:
    write_inputs(tmp_path)
    command = ["score", tmp_path / "cases.csv", "--metrics", "rouge1", "--store", tmp_path / "s.db"]
    assert medassay(*command).code == 0
    damage(tmp_path / "s.db")
    ran = medassay(*command)
    assert ran.code == 2
    assert f"{tmp_path / 's.db'}: " in ran.err
    assert "elete" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("entry", ["'{\"v\": '", '\'{"v": "x"}\'', "'[1]'", "'{}'", "x'ff00fe'", "NULL", "'null'"])
def test_an_entry_of_the_store_that_is_no_score_is_measured_again(
    tmp_path: Path, medassay: Callable, entry: str
) -> None:
    write_inputs(tmp_path)
    command = ["score", tmp_path / "cases.csv", "--metrics", "rouge1", "--store", tmp_path / "s.db"]
    assert medassay(*command, "--out", tmp_path / "a.csv").code == 0
    _with_statement(f"UPDATE scores SET score = {entry}")(tmp_path / "s.db")
    ran = medassay(*command, "--out", tmp_path / "b.csv")
    assert ran.code == 0, ran.err
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert medassay(*command, "--out", tmp_path / "c.csv").code == 0


def test_a_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.db.execute("DROP TABLE scores")
        with pytest.raises(MedassayError, match=r"s\.db: results could not be kept"):
            store.write([(b"k", "{}")])
        with pytest.raises(MedassayError, match=r"s\.db: kept results cannot be read"):
            store.get(load_metric("rouge1"), [])  # no key: nothing is asked
            store.find([b"k"])


@pytest.mark.parametrize("command", [["score"], ["trust"], ["stress"], ["validate", "--human", "people"]])
def test_a_seed_below_zero_is_refused(tmp_path: Path, medassay: Callable, command: list[str]) -> None:
    write_inputs(tmp_path)
    ran = medassay(*command, tmp_path / "cases.csv", "--seed", "-1")
    assert ran.code == 2
    assert "'--seed'" in ran.err
    assert "Traceback" not in ran.err


def _run(arguments: list[str], folder: Path, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(arguments, cwd=folder, capture_output=True, timeout=300, **options)  # type: ignore[call-overload]


MEDASSAY = f"{sys.executable} -m medassay"


@pytest.mark.parametrize("command", ["score - --metrics rouge1", "trust -", "extract -"])
def test_closed_standard_input(tmp_path: Path, command: str) -> None:
    ran = _run(["sh", "-c", f"{MEDASSAY} {command} <&-"], tmp_path)
    assert (ran.returncode, ran.stderr.decode()) == (
        2,
        "medassay: standard input is closed; give a file, or pipe the cases in\n",
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_cost_no_result(tmp_path: Path, closed: str) -> None:
    write_inputs(tmp_path)
    ran = _run(["sh", "-c", f"{MEDASSAY} score cases.csv --metrics rouge1 --out o.csv {closed}"], tmp_path)
    assert ran.returncode == 0, ran.stderr
    # No message has gone into a file that was given the number of a closed stream.
    assert all(row["rouge1"] for row in read_csv(tmp_path / "o.csv"))
    assert (tmp_path / "o.csv").read_text().startswith("id,system,")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_our_characters(tmp_path: Path, encoding: str) -> None:
    write_inputs(tmp_path)
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for command in ("score cases.csv --metrics rouge1 --out ö.csv --resamples 20", "metrics", "metrics hare", "--help"):
        ran = _run([*MEDASSAY.split(), *command.split()], tmp_path, env=environment)
        assert (ran.returncode, b"Traceback" in ran.stderr) == (0, False), ran.stderr


def test_records_on_standard_output_are_utf8_whatever_the_terminal_has(tmp_path: Path) -> None:
    write_csv(tmp_path / "c.csv", [["id", "candidate"], ["é", "Adenocarcinoma ≥ 2 cm."]])
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = _run([*MEDASSAY.split(), "extract", "c.csv"], tmp_path, env=environment)
    record = json.loads(ran.stdout.decode("utf-8"))
    assert (ran.returncode, record["id"], record["text"]) == (0, "é", "Adenocarcinoma ≥ 2 cm.")


def test_names_that_no_file_can_have_cost_their_own_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, medassay: Callable
) -> None:
    names = ["x" * 300 + ".png", "a/" * 3000 + "b.png", "a\0b.png", "ü" * 200 + ".png", "", "/dev/zero", "."]
    write_csv(tmp_path / "c.csv", [["id", "candidate", "image"], *([k, NOTE, name] for k, name in enumerate(names))])
    monkeypatch.chdir(tmp_path)
    ran = medassay("trust", "c.csv", "--resamples", "0", "--out", "o.csv", "--evidence", "e.jsonl")
    assert ran.code == 1, ran.err
    assert len(read_csv(tmp_path / "o.csv")) == len(names)
    assert all(row["logic"] or row["logic.unscored"] for row in read_csv(tmp_path / "o.csv"))
    for row in (2, 3, 4, 5):
        assert f"row {row}: column 'image': no such file" in ran.err
    assert max(map(len, ran.err.splitlines())) < 400


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory is Linux's")
def test_want_of_memory_is_not_blamed_on_a_model_file(tmp_path: Path) -> None:
    write_csv(tmp_path / "c.csv", [["id", "candidate", "reference"], [1, NOTE, NOTE]])
    command = [*MEDASSAY.split(), "score", "c.csv", "--metrics", "hare", "--workers", "0", "--out", "o.csv"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    messages = []
    for megabytes in (300, 400, 500):

        def limit(size: int = megabytes << 20) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (size, size))

        ran = _run(command, tmp_path, preexec_fn=limit, env=environment)
        if ran.returncode != 0:
            messages.append(ran.stderr.decode())
    assert messages
    for message in messages:
        assert "memory" in message
        assert "not a graph" not in message
        assert "reinstall" not in message
