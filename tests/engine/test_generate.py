"""Reports that a subject model writes during a run."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("PIL", reason="needs the extra 'slides'")
from medassay.cases import Case, Row
from medassay.engine.generate import Generator, ReportStore, fingerprint
from medassay.metrics.subject import GenerationFailed, read_prompts


class Writer:
    """A subject that counts its calls and fails on request."""

    name = "writer"
    concurrency = 1
    side = None

    def __init__(self, *, fails: bool = False) -> None:
        self.fails, self.calls = fails, 0

    def write(self, image: Path, system: str, prompt: str) -> str:
        self.calls += 1
        if self.fails:
            raise GenerationFailed("no answer")
        return "Adenocarcinoma."

    def stop(self) -> None:
        """Nothing runs on."""


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    from PIL import Image

    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    given = {"candidate_stain": "Adenocarcinoma.", "candidate_attack": "Adenocarcinoma."}
    return [Row(1, Case("a", "", image="a.png", extra=given, row=1)), Row(2, None, "broken")]


def generator(folder: Path, subject: Writer) -> Generator:
    return Generator(subject, read_prompts(), ReportStore(folder / "store"), images=folder, stained=folder / "stained")


def test_what_is_missing_is_written_once_and_reused(tmp_path: Path, rows: list[Row]) -> None:
    for written, reused in ((1, 0), (0, 1)):
        subject = Writer()
        filler = generator(tmp_path, subject)
        filled, broken = filler.fill(rows)
        assert filled.case.candidate == "Adenocarcinoma." and broken == rows[1]
        assert (subject.calls, filler.written, filler.reused) == (written, written, reused)


def test_a_report_that_failed_is_empty_with_its_reason(tmp_path: Path, rows: list[Row]) -> None:
    filled, _ = generator(tmp_path, Writer(fails=True)).fill(rows)
    assert filled.case.candidate == "" and filled.case.extra["candidate_error"] == "no answer"


def test_a_missing_image_is_named_for_every_report_that_is_lacking(tmp_path: Path) -> None:
    (filled,) = generator(tmp_path, Writer()).fill([Row(1, Case("a", "text", image="none.png", row=1))])
    assert {"candidate_stain_error", "candidate_attack_error"} <= set(filled.case.extra)


def test_a_fingerprint_follows_the_content(tmp_path: Path) -> None:
    for name, content in (("a", b"one"), ("b", b"one"), ("c", b"two")):
        (tmp_path / name).write_bytes(content)
    a, b, c = (fingerprint(tmp_path / name) for name in "abc")
    assert a == b != c
