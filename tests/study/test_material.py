"""What a stress test works on: three forms of file, what is made by rule, strangers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from medassay.cases import Case
from medassay.errors import InputError
from medassay.records import read_records
from medassay.study.material import CONTROL, LOGIC, VISUAL, Original, make_material, originals_of, sample, vary_cases


def jsonl(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_originals(
    path: Path, columns: Mapping[str, str] | None = None, by: str | None = None
) -> tuple[list[Original], list[str]]:
    return originals_of(str(path), list(read_records(path)), columns, by)


def forms(one: Original) -> set[tuple[str, str, str]]:
    return {(v.form, v.kind, v.origin) for v in one.variants}


def test_rows_of_changes(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "reference": "No tumor.", "kind": "paraphrase_a", "candidate": "Free of tumor."},
        {"id": "a", "reference": "No tumor.", "kind": "negation", "candidate": "Tumor."},
        {"id": "a", "reference": "No tumor.", "kind": "hallucination", "candidate": "No tumor. Necrosis."},
        {"id": "a", "reference": "No tumor.", "kind": "mix-up", "candidate": "No humor."},
    ]
    (one,), problems = read_originals(jsonl(tmp_path / "c.jsonl", rows))
    assert not problems
    assert forms(one) == {
        ("paraphrase", "paraphrase_a", "data"),
        ("error", "negation", "data"),
        ("error", "invention", "data"),
        ("error", "mix-up", "data"),
    }


def test_rows_with_paraphrase_and_error_columns(tmp_path: Path) -> None:
    row = {"id": "n", "kind": "note", "text": "He is 52.", "paraphrase_a": "Aged 52.", "paraphrase_b": "52 y."}
    rows = [{**row, "error": "Aged 42.", "error_type": "value"}]
    (one,), _ = read_originals(jsonl(tmp_path / "p.jsonl", rows))
    assert one.group == "note"
    assert forms(one) == {
        ("paraphrase", "paraphrase_a", "data"),
        ("paraphrase", "paraphrase_b", "data"),
        ("reworded error", "measurement", "data"),
    }


def test_a_case_file_gives_its_distinct_references_and_columns_of_other_meaning_stay_out(tmp_path: Path) -> None:
    rows = [
        {"id": i, "system": s, "kind": "clinical note", "reference": f"Text {i}.", "candidate": "x", "error": "minor"}
        for i in range(3)
        for s in "ab"
    ]
    originals, _ = read_originals(jsonl(tmp_path / "cases.jsonl", rows))
    assert [one.text for one in originals] == ["Text 0.", "Text 1.", "Text 2."]
    assert all(one.variants == [] and one.group == "clinical note" for one in originals)
    by, _ = read_originals(tmp_path / "cases.jsonl", by="system")
    assert by[0].group == "a"


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 1: no column 'reference' or 'text'; map yours, as reference=COLUMN"):
        read_originals(jsonl(tmp_path / "a.jsonl", [{"candidate": "x"}]))
    originals, problems = read_originals(jsonl(tmp_path / "b.jsonl", [{"reference": ""}, {"reference": "x y"}]))
    assert len(originals) == 1
    assert problems == ["row 1: column 'reference' or 'text' is empty; nothing to change"]
    assert read_originals(jsonl(tmp_path / "c.jsonl", [{"gold": "x"}]), {"reference": "gold"})[0][0].text == "x"


def test_rules_make_only_what_the_file_does_not_bring(tmp_path: Path) -> None:
    text = "No tumor is seen in the left breast. The margins are free of tumor."
    plain = make_material([Original("a", text), Original("b", "Benign.")])
    by_rule = {v.form for v in plain.originals[0].variants}
    assert by_rule == {"copy", "harmless", "rewording", "slip", "error", "reworded error", "unrelated"}
    assert plain.not_made["error", "laterality"] == {"no word that a rule for laterality knows": 1}
    assert plain.not_made["error", "drug"] == {"no word that a rule for drug knows": 2}
    rows = [{"reference": text, "kind": "negation", "candidate": "Tumor is seen."}]
    originals, _ = read_originals(jsonl(tmp_path / "c.jsonl", rows))
    mixed = make_material(originals)
    assert {v.origin for v in mixed.originals[0].variants if v.form == "error"} == {"data"}
    assert {v.origin for v in mixed.originals[0].variants if v.form == "reworded error"} == {"rule"}
    bare = make_material(originals, rules=False)
    assert {v.form for v in bare.originals[0].variants} == {"copy", "error"}


def test_everyone_gets_a_stranger_of_the_same_group() -> None:
    originals = [Original(str(i), f"text {i}", group="ab"[i % 2]) for i in range(9)] + [
        Original("x", "alone", group="c")
    ]
    for one in make_material(originals, rules=False).originals:
        (stranger,) = [v.text for v in one.variants if v.form == "unrelated"]
        assert stranger != one.text
        if one.group in "ab":
            assert int(stranger.split()[1]) % 2 == int(one.id) % 2
    assert make_material(originals[:1], rules=False).originals[0].variants[-1].form == "copy"


def test_a_sample_is_drawn_by_the_seed_in_order() -> None:
    originals = [Original(str(i), f"text {i}") for i in range(50)]
    drawn = sample(originals, 10, 1)
    assert len(drawn) == 10 and drawn == sorted(drawn, key=lambda one: int(one.id))
    assert drawn == sample(originals, 10, 1) != sample(originals, 10, 2)
    assert sample(originals, 0, 1) == originals


def test_variants_of_reports_are_made_or_counted() -> None:
    cases = [Case("1", "Colon: adenocarcinoma. No necrosis is seen."), Case("2", "See comment.")]
    varied, missed = vary_cases(cases, 1)
    assert [kind for kind, _ in varied[0]] == [CONTROL, VISUAL, LOGIC]
    assert varied[0][0][1].references == (cases[0].candidate,)
    assert [kind for kind, _ in varied[1]] == [CONTROL]
    assert sum(missed.values()) == 2
