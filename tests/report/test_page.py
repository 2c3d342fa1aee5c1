from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.sample import HOSTILE, Given, run, sample, words_in_common

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.report import page as page_module
from medassay.report.page import PageWriter, summary_html
from medassay.report.payload import Payload
from medassay.report.sections import Run, Section, table
from medassay.result import Result
from medassay.scores import Score
from medassay.study.summary import Aggregate


class Reader(HTMLParser):
    """What a browser would see: elements with attributes, and the text of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[tuple[str, dict[str, str | None], str]] = []
        self.shown: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.raw.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem:
            tag, attrs, text = self.raw[-1]
            self.raw[-1] = (tag, attrs, text + data)
        else:
            self.shown.append(data)

    @property
    def data(self) -> dict[str, Any]:
        text = next(text for tag, attrs, text in self.raw if attrs.get("type") == "application/json")
        found = json.loads(text)
        if isinstance(found, str):
            found = json.loads(zlib.decompress(base64.b64decode(found)))
        assert isinstance(found, dict)
        return found

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.shown).split())


def html_of(result: Result, **options: Any) -> str:
    writer = PageWriter(result.metrics, **options)
    for i, case in enumerate(result.cases):
        writer.add(case, {name: scores[i] for name, scores in result.scores.items()})
    return writer.html(result.summary("system", resamples=50))


def test_the_policy_admits_the_pages_own_script_and_style_and_nothing_else() -> None:
    reader = Reader(html_of(sample()))
    policy = next(a["content"] for t, a in reader.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy and "http" not in policy
    hashes = set(re.findall(r"'sha256-([^']+)'", policy))
    run_by_browser = [text for tag, attrs, text in reader.raw if attrs.get("type") != "application/json"]
    assert hashes == {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run_by_browser}


def test_no_handler_no_style_attribute_no_outside_address() -> None:
    for tag, attributes in Reader(html_of(sample())).elements:
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
    reader = Reader(html)
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


def test_texts_are_held_once_and_scores_keep_their_reasons() -> None:
    data = Reader(html_of(sample())).data
    assert len(data["texts"]) == len(set(data["texts"]))
    empty = next(one for one in data["cases"] if one["i"] == "case 5" and one["s"] == "beta")
    assert empty["v"] == [None] * 4 and empty["u"]["0"] == "empty candidate"
    assert "e" not in empty


def test_evidence_says_which_of_several_references_it_speaks_of() -> None:
    several = next(one for one in Reader(html_of(sample())).data["cases"] if one["i"] == "case 2")
    assert len(several["r"]) == 2 and several["e"]["0"]["reference"] == 1


def test_sections_tell_values_intervals_reasons_and_signatures() -> None:
    text = Reader(html_of(sample())).text
    assert "16 cases · 2 systems · 4 metrics" in text
    for heading in ("Summary", "Distributions", "System comparison", "Unscored", "How it was made"):
        assert heading in text
    assert "no entity in the reference 2" in text  # case 1 of both systems
    assert "empty candidate 1" in text
    assert "overlap|refs:best|v:" in text
    assert "lower is better" in text and "0 or more" in text
    assert "For research and quality assurance, not for clinical decisions." in text


def test_unpaired_systems_are_reported_as_not_compared() -> None:
    cases = [Case("1", "a", ("a",), system="x"), Case("2", "b", ("b",), system="y")]
    assert "Not compared:" in Reader(html_of(run(cases, Given("m", words_in_common)))).text


def test_one_system_has_no_comparison() -> None:
    html = html_of(run([Case("1", "a b", ("a",))], Given("m", words_in_common)))
    assert 'id="comparison"' not in html and "all cases" in html


def test_more_cases_than_the_limit_are_counted_but_not_carried() -> None:
    cases = [Case(str(i), "a b", ("a b",)) for i in range(30)]
    reader = Reader(html_of(run(cases, Given("m", words_in_common)), limit=20))
    assert len(reader.data["cases"]) == 20
    assert "over all 30 cases; this page carries the first 20" in reader.text
    assert "n 30" in reader.text


def test_evidence_is_carried_for_fewer_cases_than_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "EXPLAINED", 5)
    cases = [Case(str(i), "a b", ("a b",)) for i in range(30)]
    reader = Reader(html_of(run(cases, Given("m", words_in_common))))
    assert ["e" in one for one in reader.data["cases"]] == [True] * 5 + [False] * 25
    assert "evidence is carried for the first 5 cases" in reader.text


def test_no_more_text_is_held_than_a_page_could_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "HELD", 100)
    cases = [Case(str(i), "x" * 30, ("y" * 30,)) for i in range(30)]
    reader = Reader(html_of(run(cases, Given("m", words_in_common))))
    assert len(reader.data["cases"]) == 2 and "this page carries the first 2 for reading" in reader.text


def test_metrics_fold_where_systems_and_metrics_are_many() -> None:
    cases = [Case(str(i // 6), f"a {'b ' * (i % 5)}", ("a b c",), system=f"s{i % 6}") for i in range(60)]
    few, many = (
        Reader(html_of(run(cases, *(Given(f"m{k}", words_in_common) for k in range(count))))) for count in (2, 8)
    )
    opened = [attributes for tag, attributes in many.elements if tag == "details" and "open" in attributes]
    # Of the summary and of the comparison each metric folds, the first one open; of the figures all but three.
    assert len([tag for tag, _ in many.elements if tag == "details"]) == 8 + 8 + 1 and len(opened) == 2
    assert "best 0." in many.text and "of 15 pairs" in many.text and "5 more metrics" in many.text
    assert not any(tag == "details" for tag, _ in few.elements)


def test_cells_bear_the_heading_of_their_column() -> None:
    made = table(
        "plain", {'<span class="unseen">of</span> a<sub>b</sub>': "", "c": "num"}, "<tr><th>1</th><td>2</td></tr>"
    )
    assert '<th data-title=" ab">1</th><td data-title="c">2</td>' in made
    assert "data-title" not in table("plain", {"a": "", "c": ""}, '<tr><td colspan="2">1</td></tr>')


def test_a_small_budget_drops_evidence_first_then_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [Case(str(i), f"{i} " + "a b c " * 40, ("a b c " * 40,)) for i in range(60)]
    result = run(cases, Given("m", words_in_common))
    monkeypatch.setattr(page_module, "BYTES", 45_000)
    reader = Reader(html_of(result))
    kept = reader.data["cases"]
    explained = [bool(one.get("e")) for one in kept]
    assert len(kept) == 60 and 0 < sum(explained) < 60 and explained == sorted(explained, reverse=True)
    assert f"evidence is carried for the first {sum(explained)} cases" in reader.text
    monkeypatch.setattr(page_module, "BYTES", 9_000)
    assert 0 < len(Reader(html_of(result)).data["cases"]) < 60


def test_a_thousand_long_cases_stay_under_five_megabytes(tmp_path: Path) -> None:
    text = " ".join(f"word{i % 97}x{i}" for i in range(250))
    cases = [Case(str(i // 2), f"{i} {text}", (f"{text} {i // 2}",), system="ab"[i % 2]) for i in range(1000)]
    score = words_in_common(cases[0])
    metrics = [Given(f"m{k}", lambda case: score) for k in range(4)]
    path = tmp_path / "page.html"
    run(cases, *metrics).report(path, resamples=10)
    assert path.stat().st_size < 5_000_000
    reader = Reader(path.read_text(encoding="utf-8"))
    assert len(reader.data["cases"]) == 1000


@given(st.lists(st.tuples(*[st.integers(0, 5000)] * 4)))
def test_matches_survive_packing(spans: list[tuple[int, int, int, int]]) -> None:
    matches = [{"candidate": [a, a + b], "reference": [c, c + d]} for a, b, c, d in spans]
    payload = Payload([Given("m", words_in_common)])
    payload.add(Case("1", "x", ("y",)), {"m": Score(0.5, evidence={"matches": matches})})
    flat = json.loads(payload.encode({}, 10**7).text)["cases"][0].get("e", {"0": {"matches": []}})["0"]["matches"]
    back, a, c = [], 0, 0
    for i in range(0, len(flat), 4):
        a, c = a + flat[i], c + flat[i + 2]
        back.append({"candidate": [a, a + flat[i + 1]], "reference": [c, c + flat[i + 3]]})
    assert back == matches


def test_evidence_of_another_kind_is_kept_as_data() -> None:
    odd = {"matches": "three", "share": float("nan"), "text": "\ud800x", "list": [{"a": (1, None)}]}
    payload = Payload([Given("m", words_in_common)])
    payload.add(Case("\udc80", "a\ud800b", ("y",)), {"m": Score(0.5, evidence=odd)})
    block = payload.encode({}, 10**6)
    block.text.encode("utf-8")
    evidence = json.loads(block.text)["cases"][0]["e"]["0"]
    assert evidence["matches (not in the known form)"] == "three"
    assert evidence["share"] is None and evidence["list"] == [{"a": [1, None]}]


def test_a_very_long_text_is_cut_and_marked() -> None:
    data = Reader(html_of(run([Case("1", "a" * 5_000_00, ("a",))], Given("m", words_in_common)))).data
    assert data["texts"][0].endswith(" […]") and len(data["texts"][0]) < 61_000


def test_a_section_joins_with_its_own_style_script_and_data() -> None:
    def counts(run: Run) -> Section | None:
        return Section(
            "counts", "Counts", "<p>by system</p>", dict(run.cases_by_system), "let x = 1;", "p { margin: 0 }"
        )

    reader = Reader(html_of(sample(), sections=[counts, lambda run: None]))
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
