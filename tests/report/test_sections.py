"""The sections of a report page."""

from __future__ import annotations

from tests.report.reader import PageReader, html_of
from tests.report.sample import Given, run, sample, words_in_common

from medassay.cases import Case
from medassay.report.sections import table


def test_sections_tell_values_intervals_reasons_and_signatures() -> None:
    text = PageReader(html_of(sample())).text
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
    assert "Not compared:" in PageReader(html_of(run(cases, Given("m", words_in_common)))).text


def test_one_system_has_no_comparison() -> None:
    html = html_of(run([Case("1", "a b", ("a",))], Given("m", words_in_common)))
    assert 'id="comparison"' not in html and "all cases" in html


def test_metrics_fold_where_systems_and_metrics_are_many() -> None:
    cases = [Case(str(i // 6), f"a {'b ' * (i % 5)}", ("a b c",), system=f"s{i % 6}") for i in range(60)]
    few, many = (
        PageReader(html_of(run(cases, *(Given(f"m{k}", words_in_common) for k in range(count))))) for count in (2, 8)
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
