"""Assertions by rule, and their joining with the model's view."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.language.readings import marked

from medassay.language.assertion import TRUST, by_rule, decide_assertions, denied
from medassay.language.lexicon import read_tsv
from medassay.spans import ASSERTIONS, Link, Reading, Span


def ruled(text: str) -> str:
    """The rules' assertions of the marked spans, as initials: a(bsent), +(present), ?(possible)."""
    initials = {"absent": "a", "present": "+", "possible": "?"}
    return "".join(initials[verdict.assertion] for verdict in by_rule(*marked(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No <finding necrosis> or <finding lymphovascular invasion> is noted.", "aa"),
        ("No evidence of <finding atypia>, <finding mitoses>, or <diagnosis malignancy>.", "aaa"),
        ("<finding Necrosis>: Absent", "a"),
        ("<diagnosis Prostatic intraepithelial neoplasia> (<diagnosis PIN>): None.", "aa"),
        ("<finding Vascular invasion> is present, but <finding perineural invasion> is not identified.", "+a"),
        ("<diagnosis Adenocarcinoma>. No <finding necrosis>.", "+a"),
        ("Lymph node, negative for <diagnosis carcinoma> (0/3).", "a"),
        ("Negative for. <diagnosis MALIGNANCY>. <finding Fibrosis>.", "a+"),
        ("<diagnosis Tumor>-free bladder wall.", "a"),
        ("HER2-negative <diagnosis invasive carcinoma>", "+"),
        ("<diagnosis Metastases> in lymphonodis (No VI/XVIII).", "+"),
        ("<finding Inflammation> without <diagnosis dysplasia>; <finding fibrosis>", "+a+"),
        ("The tumor does not <finding penetrate the capsule>.", "a"),
    ],
)
def test_negation(text: str, expected: str) -> None:
    assert ruled(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("consistent with <diagnosis adenocarcinoma>", "?"),
        ("Suspicious for a <diagnosis neoplasm>, favoring a <diagnosis carcinoma>.", "??"),
        ("likely a <diagnosis scar> or <finding fibrosis> without evidence of <diagnosis malignancy>", "??a"),
        ("confirms <diagnosis lymphoma>; features are those of <diagnosis Hodgkin lymphoma>", "++"),
        ("(high-grade <diagnosis dysplasia> cannot be ruled out)", "?"),
        ("<diagnosis Distant metastasis>: Cannot be determined. <diagnosis Adenoma>", "?+"),
        ("The stroma shows [describe any <finding necrosis>, <finding edema>, etc.].", "??"),
    ],
)
def test_possibility(text: str, expected: str) -> None:
    assert ruled(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<finding Surgical margins> are negative for <diagnosis tumor>.", "aa"),
        ("<finding Margins>: Uninvolved.", "a"),
        ("A: <finding Deep margin>, excision. - Negative for <diagnosis carcinoma>.", "aa"),
        ("The <finding cut margin>, <finding bile duct margin> and <finding SMA margin> are uninvolved.", "aaa"),
        ("The <finding inferior margin> is involved by <diagnosis carcinoma>.", "++"),
        ("2 cm from the <finding medial margin>", "+"),
        ("<diagnosis Ductal carcinoma in situ>; free <finding margins>", "+a"),
    ],
)
def test_margins(text: str, expected: str) -> None:
    assert ruled(text) == expected


@pytest.mark.parametrize(
    ("marker", "result", "expected"),
    [
        ("CD20", "negative", "absent"),
        ("CD20", "no staining", "absent"),
        ("CD20", "strongly positive", "present"),
        ("MLH1", "no loss", "present"),
        ("ER", "2+", "present"),
        ("HER2", "2+", "possible"),
        ("HER2", "not amplified", "absent"),
        ("Ki-67", "90%", "present"),
        ("EGFR", "pending", "possible"),
        ("PR", "0%", "absent"),
    ],
)
def test_a_marker_follows_its_result(marker: str, result: str, expected: str) -> None:
    text, spans = marked(f"<marker {marker}>: <modifier {result}>")
    linked = by_rule(text, spans, [Link(0, 1, "marker_modifier", 1.0)])
    assert [verdict.assertion for verdict in linked] == [expected, "present"]
    assert linked[0].cue == (spans[1].start, spans[1].end)


def test_amplification_settles_an_equivocal_stain() -> None:
    text, spans = marked("<marker HER-2> <modifier 2+>, <modifier without amplification>")
    links = [Link(0, 1, "marker_modifier", 1.0), Link(0, 2, "marker_modifier", 1.0)]
    assert by_rule(text, spans, links)[0].assertion == "absent"


def test_without_links_the_nearest_result_of_the_clause_counts() -> None:
    assert ruled("<marker CD3>: <modifier negative>; <marker CD20>: <modifier positive>") == "a+++"


@pytest.mark.parametrize(
    "text",
    ["<marker ER>/<marker PR> and <marker HER2> testing will be performed.", "please obtain <marker ER>, <marker PR>."],
)
def test_ordered_markers_are_possible(text: str) -> None:
    assert set(ruled(text)) == {"?"}


def test_named_markers_are_present() -> None:
    assert ruled("Stains for <marker p63> and <marker CK5/6> were reviewed.") == "++"


def test_other_types_are_present() -> None:
    assert ruled("no <site lymph node>, no <grade high grade>, <descriptor No evidence of> <diagnosis tumor>") == "+++a"


def test_words_that_are_denied_by_others() -> None:
    assert denied("No invasive growth.", (3, 18))
    assert not denied("Invasive growth.", (0, 15))
    assert not denied("No invasive growth.", (0, 18))


def test_spans_may_come_in_any_order() -> None:
    text, spans = marked("No <finding necrosis>; <finding fibrosis>; possible <diagnosis adenoma>")
    forward = [verdict.assertion for verdict in by_rule(text, spans)]
    assert [verdict.assertion for verdict in by_rule(text, spans[::-1])] == forward[::-1]


@pytest.mark.parametrize(
    ("label", "sure", "expected"),
    [("present", TRUST + 0.1, "present"), ("present", TRUST - 0.1, "absent"), ("possible", 0.99, "possible")],
)
def test_an_unsure_model_gives_way_to_a_cue(label: str, sure: float, expected: str) -> None:
    text, spans = marked("No <finding necrosis>.")
    assert decide_assertions(text, spans, Reading(((label, sure),), ())) == [expected]


def test_an_unsure_model_stands_where_nothing_is_said() -> None:
    text, spans = marked("<finding Necrosis>")
    assert decide_assertions(text, spans, Reading((("possible", 0.4),), ())) == ["possible"]


def test_without_a_model_the_rules_decide() -> None:
    text, spans = marked("No <finding necrosis>. <diagnosis Adenoma>.")
    assert decide_assertions(text, spans, Reading((), ())) == ["absent", "present"]


def test_every_cue_is_well_formed_and_listed_once() -> None:
    rows = list(read_tsv("assertion.tsv"))
    assert {row["effect"] for row in rows} == {*ASSERTIONS, "stop", "none"}
    assert {row["governs"] for row in rows} == {"next", "prev", "both", "in"}
    assert {row["of"] for row in rows} == {"any", "margin", "marker", "result"}
    keys = [(row["cue"], row["governs"], row["of"]) for row in rows]
    assert len(keys) == len(set(keys))
    assert all(re.compile(row["cue"]).groups == 0 for row in rows)


@given(st.text(alphabet="no negative.:;-,() margin\nX", max_size=80), st.data())
def test_any_text_gets_one_assertion_a_span(text: str, data: st.DataObject) -> None:
    ends = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    spans = [Span(a, b, "finding", 1.0) for a, b in zip(ends[::2], ends[1::2])]
    verdicts = by_rule(text, spans)
    assert len(verdicts) == len(spans)
    assert all(verdict.assertion in ASSERTIONS for verdict in verdicts)
    assert all(verdict.cue is None or 0 <= verdict.cue[0] < verdict.cue[1] <= len(text) for verdict in verdicts)
