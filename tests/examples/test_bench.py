"""The benchmark's texts: read whole, and what each version is."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from medassay.errors import InputError
from medassay.examples.bench import _PLACES, FORMS, KINDS, read_bench


def test_three_hundred_documents_with_all_their_versions() -> None:
    documents = read_bench()
    assert [sum(document.kind == kind for document in documents) for kind in KINDS] == [100, 100, 100]
    assert len({document.id for document in documents}) == len({document.text for document in documents}) == 300
    for document in documents:
        forms = [version.form for version in document.versions]
        assert forms == sorted(forms, key=FORMS.index)
        assert [forms.count(form) for form in FORMS] == [1, 2, 3, 1, 1, 1], document.id
        assert document.versions[0].text == document.text
        assert len(document.claims) == 8 and {claim.label for claim in document.claims} == {
            "supported",
            "contradicted",
            "not_stated",
        }
        others = [version.text for version in document.versions[1:]]
        assert document.text not in others, document.id
        wrong = [version for version in document.versions if version.form in ("error", "contradictory")]
        assert all(version.kind and version.severity in ("minor", "critical") for version in wrong)
        faithful = {version.text for version in document.versions if version.form in ("copy", "paraphrase")}
        assert not faithful & {version.text for version in wrong}, document.id


def test_errors_are_spread_over_all_kinds() -> None:
    kinds = [version.kind for document in read_bench() for version in document.versions if version.form == "error"]
    assert all(kinds.count(kind) >= 20 for kind in set(kinds) - {"other"})
    levels = {version.level for document in read_bench() for version in document.versions if version.form == "graded"}
    assert levels == {1, 2, 3, 4}


def test_a_part_is_spread_over_the_file() -> None:
    part = read_bench(["radiology"], every=5)
    assert [document.id for document in part[:2]] == ["benchR001", "benchR006"]
    # The unrelated text is that of another document, whatever part is read.
    assert part[0].versions[-1].text == read_bench(["radiology"])[50].text


def test_an_unknown_kind() -> None:
    with pytest.raises(InputError, match="no benchmark texts of kind 'dental'; there are pathology, notes, radiology"):
        read_bench(["dental"])


def test_the_texts_go_into_the_package_once() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    if not project.is_file():
        pytest.skip("needs a checkout")
    wheel = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {"corpus/bench": f"medassay/examples/{_PLACES[0].name}"}
    assert not _PLACES[0].exists(), "a checkout reads corpus/bench"
