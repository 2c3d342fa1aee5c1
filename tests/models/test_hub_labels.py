from __future__ import annotations

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.models.hub_labels import (
    Tag,
    entity_type,
    group,
    read_relation_labels,
    read_tag,
    read_tags,
    relatedness,
)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("Anatomical_Site", "site"),
        ("IHC marker", "marker"),
        ("pathology_diagnosis", "diagnosis"),
        ("PathologicalDiagnosis", "diagnosis"),
        ("diagnosis-descriptor", "descriptor"),
        ("IHC_modifier", "modifier"),
        ("IHCModifier", "modifier"),
        ("GRADE", "grade"),
        ("histological findings", "finding"),
        ("site", "site"),
        ("PER", None),
        ("O", None),
        ("LABEL_3", None),
    ],
)
def test_labels_in_any_spelling_name_a_type(label: str, expected: str | None) -> None:
    assert entity_type(label) == expected


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("B-Anatomical_Site", Tag("B", "site")),
        ("I_IHC marker", Tag("I", "marker")),
        ("U-grade", Tag("U", "grade")),
        ("diagnosis-B", Tag("B", "diagnosis")),
        ("IHC_marker", Tag("I", "marker")),  # the I of IHC is no place
        ("O", Tag("I", None)),
    ],
)
def test_the_place_in_a_label_is_told_from_its_name(label: str, expected: Tag) -> None:
    assert read_tag(label) == expected


def _tags(text: str) -> list[Tag]:
    names = {"s": "site", "m": "marker"}
    return [Tag(word[0], names.get(word[1:])) for word in text.split()]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("Bs Is I", [(0, 1, "site")]),
        ("Bs Bs", [(0, 0, "site"), (1, 1, "site")]),
        ("Is Is I Im", [(0, 1, "site"), (3, 3, "marker")]),  # IO, and I without B
        ("Bs Im", [(0, 0, "site"), (1, 1, "marker")]),
        ("Bs Ls Us Us", [(0, 1, "site"), (2, 2, "site"), (3, 3, "site")]),  # BILOU
        ("Ss Bm Em Is", [(0, 0, "site"), (1, 2, "marker"), (3, 3, "site")]),  # BIOES
        ("", []),
    ],
)
def test_words_are_grouped_under_every_scheme(tags: str, expected: list[tuple[int, int, str]]) -> None:
    found = group(_tags(tags), [0.5] * len(tags.split()))
    assert [one[:3] for one in found] == expected


def test_a_span_is_as_sure_as_its_words_on_average() -> None:
    assert group(_tags("Bs Is I"), [0.9, 0.5, 1.0])[0][3] == pytest.approx(0.7)


def test_labels_that_name_no_type_are_refused_with_the_remedy() -> None:
    with pytest.raises(ModelError, match=r"found LABEL_0, LABEL_1.*wanted site.*id2label"):
        read_tags(["LABEL_0", "LABEL_1"], "folder")


def test_unnamed_relation_labels_begin_with_none() -> None:
    labels = read_relation_labels(["LABEL_0", "LABEL_1"], "folder")
    assert (labels.none, labels.plain, dict(labels.named)) == (0, (1,), {})


def test_relation_labels_by_name_in_any_order() -> None:
    labels = read_relation_labels(["marker_modifier", "NO_REL", "Descriptor-Diagnosis"], "folder")
    assert labels.none == 1
    assert labels.named == {0: ("marker", "modifier"), 2: ("descriptor", "diagnosis")}


def test_relation_labels_without_a_none_are_refused() -> None:
    with pytest.raises(ModelError, match=r"no labels.*'not related'.*marker_modifier"):
        read_relation_labels(["marker_modifier", "diagnosis_grade"], "folder")


def test_relatedness_is_the_softmax_mass_of_the_labels_that_fit() -> None:
    labels = read_relation_labels(["none", "marker_modifier", "diagnosis_grade"], "folder")
    logits = np.log(np.array([0.2, 0.5, 0.3]))
    assert relatedness(logits, labels, ("marker", "modifier")) == pytest.approx(0.5)
    assert relatedness(logits, labels, ("diagnosis", "descriptor")) == 0.0


def test_a_single_output_is_a_sigmoid() -> None:
    labels = read_relation_labels(["LABEL_0"], "folder")
    assert relatedness(np.array([0.0]), labels, ("marker", "modifier")) == 0.5
