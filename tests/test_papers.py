"""The published tables are read whole, and a table is set beside ours on a small set of the same form."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import papers  # noqa: E402

MODELS = ("hare", "expert", "bertscore", "bertscore_r", "bleurt", "bartscore", "medbertscore_p", "medbartscore")
MODELS += ("clinicalbleurt", "mist", "mist-comb1", "mist-comb2", "note", "fidelity", "hallucination", "omission")
MODELS += ("facts",)


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_published_rows_are_whole() -> None:
    rows = papers.read_rows("hare.tsv", papers.HARE, MODELS)
    best = next(row for row in rows if row.name == "HARE, threshold 0.7")
    assert dict(best.published) == {"pearson": 0.65, "spearman": 0.671, "kendall": 0.561, "r2": 0.422, "rmse": 0.128}
    assert best.metric is None and best.remark == "left out of this run"
    assert [row.name for row in rows if row.metric is not None] == ["ROUGE-L", "BLEU", "METEOR", "ours: chrF"]
    # The paper's aggregate follows from its own columns.
    for row in papers.read_rows("mts_dialog.tsv", (*papers.NOTES, "aggregate"), MODELS):
        f1, h, o, total = (row.published[n] for n in ("factual_f1", "hallucination_rate", "omission_rate", "aggregate"))
        if f1 is not None and h is not None and o is not None:
            assert (2 * f1 - h - o) / 4 == pytest.approx(total, abs=0.011)


def test_a_table_beside_ours(tmp_path: Path) -> None:
    reference = "invasive ductal carcinoma of the left breast with no lymphovascular invasion seen"
    words = reference.split()
    rows: list[dict[str, object]] = [
        {
            "case": i,
            "system": 0,
            "reference": f"{reference} {i}",
            "candidate": " ".join(words[: i + 1]),
            "expert_score": s,
        }
        for i, s in enumerate([0, 1, 1, 2, 3, 4, 5, 5])
    ]
    write(tmp_path / "hare" / "expert_scores.csv", rows)
    lines = papers.hare(tmp_path, MODELS)
    ours = next(line for line in lines if line.startswith("| ROUGE-L | ours"))
    assert "n 7" in ours
    assert float(ours.split("|")[3].split()[0]) > 0.9
    assert any("the 7 scores above 0" in line for line in lines)


def test_missing_data_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert papers.main(["--data", str(tmp_path)]) == 2
    assert "hare/expert_scores.csv" in capsys.readouterr().err
