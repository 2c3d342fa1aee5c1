"""`medassay.trust(…)` from Python."""

from __future__ import annotations

import pytest

import medassay
from medassay.errors import InputError

REPORT = "Colon, biopsy: Adenocarcinoma. No necrosis is seen."


def test_reports_without_images_are_partly_assessed() -> None:
    result = medassay.trust([REPORT, REPORT], stained=[REPORT, None], attacked=["", None], ids=["a", "b"])
    first, second = result.rows()
    assert first["stability.unscored"] == "attack: the generation failed (candidate_attack is empty)"
    assert second["stability.unscored"] == "no candidate_stain and no candidate_attack"
    assert first["grounding.unscored"] == "no image"
    assert first["route"] == "review" and "grounding: no image" in first["trust.partial"]
    assert first["trust"] is None and first["trust.unscored"].startswith("partial: grounding: no image")
    assert first["trust.logic"] == pytest.approx(first["logic"])


def test_logic_alone_is_the_whole_where_the_weights_say_so() -> None:
    [row] = medassay.trust([REPORT], weights="0,1,0").rows()
    assert row["trust"] == pytest.approx(row["logic"]) and not row.get("trust.partial")


def test_lists_must_be_as_long_as_the_reports() -> None:
    for given in ({"images": "a.png"}, {"stained": [REPORT, REPORT]}):
        with pytest.raises(InputError, match="1 candidates but"):
            medassay.trust([REPORT], **given)  # type: ignore[arg-type]


def test_the_report_of_a_result_is_the_trust_page(tmp_path) -> None:  # type: ignore[no-untyped-def]
    medassay.trust([REPORT]).report(tmp_path / "r.html")
    assert 'id="routes"' in (tmp_path / "r.html").read_text()
