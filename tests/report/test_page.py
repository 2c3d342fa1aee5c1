from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest
from tests.report.reader import PageReader, html_of
from tests.report.sample import HOSTILE, Given, run, sample, words_in_common

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.report import page as page_module
from medassay.report.page import PageWriter, summary_html
from medassay.report.sections import Run, Section
from medassay.scores import Score
from medassay.study.summary import Aggregate


def test_the_policy_admits_the_pages_own_script_and_style_and_nothing_else() -> None:
    reader = PageReader(html_of(sample()))
    policy = next(a["content"] for t, a in reader.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy and "http" not in policy
    hashes = set(re.findall(r"'sha256-([^']+)'", policy))
    run_by_browser = [text for tag, attrs, text in reader.raw if attrs.get("type") != "application/json"]
    assert hashes == {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run_by_browser}


def test_no_handler_no_style_attribute_no_outside_address() -> None:
    for tag, attributes in PageReader(html_of(sample())).elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes), (tag, attributes)
        for name in ("src", "href", "action", "data"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)


def test_hostile_text_is_data_only_wherever_it_comes_from() -> None:
    bad = Given(HOSTILE, lambda case: Score(0.5) if case.id == "1" else Score.none(HOSTILE), parts=(HOSTILE,))
    cases = [
        Case("1", HOSTILE, (HOSTILE,), source=HOSTILE, image=HOSTILE, system=HOSTILE, extra={HOSTILE: HOSTILE}, row=2),
        Case(HOSTILE, "x", ("y",), system="b", row=3),
    ]
    result = run(cases, bad)
    writer = PageWriter(result.metrics, title=HOSTILE)
    for case, score in zip(cases, result[HOSTILE]):
        writer.add(case, {HOSTILE: score})
    writer.problem(HOSTILE)
    html = writer.html(result.summary("system", resamples=0), settings={HOSTILE: HOSTILE})
    reader = PageReader(html)
    assert [attrs.get("type") for tag, attrs in reader.elements if tag == "script"] == ["application/json", "module"]
    assert not any(tag == "img" for tag, _ in reader.elements)
    assert "\u2028" not in next(text for _, attrs, text in reader.raw if attrs.get("type") == "application/json")
    first = reader.data["cases"][0]
    assert reader.data["texts"][first["c"]] == HOSTILE and first["x"] == {HOSTILE: HOSTILE}
    assert summary_html(result.summary(resamples=0)).count("<script") == 0


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    sample().report(tmp_path / "a.html")
    sample().report(tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert not list(tmp_path.glob("*.partial"))


def test_evidence_says_which_of_several_references_it_speaks_of() -> None:
    several = next(one for one in PageReader(html_of(sample())).data["cases"] if one["i"] == "case 2")
    assert len(several["r"]) == 2 and several["e"]["0"]["reference"] == 1


def test_more_cases_than_the_limit_are_counted_but_not_carried() -> None:
    cases = [Case(str(i), "a b", ("a b",)) for i in range(30)]
    reader = PageReader(html_of(run(cases, Given("m", words_in_common)), limit=20))
    assert len(reader.data["cases"]) == 20
    assert "over all 30 cases; this page carries the first 20" in reader.text
    assert "n 30" in reader.text


def test_evidence_is_carried_for_fewer_cases_than_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "EXPLAINED", 5)
    cases = [Case(str(i), "a b", ("a b",)) for i in range(30)]
    reader = PageReader(html_of(run(cases, Given("m", words_in_common))))
    assert ["e" in one for one in reader.data["cases"]] == [True] * 5 + [False] * 25
    assert "evidence is carried for the first 5 cases" in reader.text


def test_no_more_text_is_held_than_a_page_could_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "HELD_CHARACTERS", 100)
    cases = [Case(str(i), "x" * 30, ("y" * 30,)) for i in range(30)]
    reader = PageReader(html_of(run(cases, Given("m", words_in_common))))
    assert len(reader.data["cases"]) == 2 and "this page carries the first 2 for reading" in reader.text


def test_a_thousand_long_cases_stay_under_five_megabytes(tmp_path: Path) -> None:
    text = " ".join(f"word{i % 97}x{i}" for i in range(250))
    cases = [Case(str(i // 2), f"{i} {text}", (f"{text} {i // 2}",), system="ab"[i % 2]) for i in range(1000)]
    score = words_in_common(cases[0])
    metrics = [Given(f"m{k}", lambda case: score) for k in range(4)]
    path = tmp_path / "page.html"
    run(cases, *metrics).report(path, resamples=10)
    assert path.stat().st_size < 5_000_000
    reader = PageReader(path.read_text(encoding="utf-8"))
    assert len(reader.data["cases"]) == 1000


def test_a_section_joins_with_its_own_style_script_and_data() -> None:
    def counts(run: Run) -> Section | None:
        return Section(
            "counts", "Counts", "<p>by system</p>", dict(run.cases_by_system), "let x = 1;", "p { margin: 0 }"
        )

    reader = PageReader(html_of(sample(), sections=[counts, lambda run: None]))
    assert reader.data["sections"] == {"counts": {"alpha": 8, "beta": 8}}
    policy = next(a["content"] for t, a in reader.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.count("sha256-") == 4
    assert any(tag == "section" and attributes.get("id") == "counts" for tag, attributes in reader.elements)


@pytest.mark.parametrize("section", [Section("Bad name", "t", ""), Section("ok", "t", "", script="'</SCRIPT>'")])
def test_a_section_that_would_break_the_page_is_refused(section: Section) -> None:
    with pytest.raises(ValueError, match="section"):
        html_of(sample(), sections=[lambda run: section])


def test_a_page_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(MedassayError, match="cannot be written"):
        sample().report(tmp_path / "no folder" / "page.html", resamples=0)


def test_summary_html_shows_missing_numbers_as_missing() -> None:
    none = Aggregate("m", None, 0, 3, float("nan"), float("nan"), float("nan"), None, None, True)
    assert "<td>–</td><td>–</td><td>–</td><td>–</td><td>0</td><td>3</td>" in summary_html([none])
    some = Aggregate("m", "s", 2, 0, 0.5, 0.5, 0.1, 0.4, 0.6, False)
    assert "<td>m ↓</td><td>s</td>" in summary_html([none, some]) and "0.400 to 0.600" in summary_html([some])
