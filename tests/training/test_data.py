"""Readers of annotation: small made files of every form, and errors that name the place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medassay.errors import InputError
from medassay.training.annotation import Entity, read_jsonl
from medassay.training.data import entity_type, read_annotation

TEXT = "CD30 is positive. No necrosis."
ENTITIES = (Entity(0, 4, "marker"), Entity(8, 16, "modifier"), Entity(21, 29, "finding", "absent"))


def test_the_output_of_extract_can_be_trained_on(tmp_path: Path) -> None:
    row = {
        "id": "1",
        "text": TEXT,
        "entities": [{"start": 0, "end": 4, "type": "marker"}, {"start": 8, "end": 16, "type": "modifier"}],
        "relations": [{"head": 0, "tail": 1, "type": "marker-modifier", "score": 0.9}],
    }
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    assert read_jsonl(path)[0].relations == {(0, 1)}


def test_brat_with_relation_and_attribute(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "a.ann").write_text(
        "T1\tIHC_Marker 0 4\tCD30\nT2\tmodifier 8 16\tpositive\nT3\tfinding 21 29\tnecrosis\n"
        "R1\tresult Arg1:T1 Arg2:T2\nA1\tNegated T3\n#1\tAnnotatorNotes T3\tsure\n",
        encoding="utf-8",
    )
    (segment,) = read_annotation(tmp_path)
    assert segment.entities == ENTITIES
    assert segment.relations == {(0, 1)}


def test_brat_without_its_text_and_with_a_strange_line(tmp_path: Path) -> None:
    (tmp_path / "a.ann").write_text("T1\tmarker zero\tCD30\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.txt is missing"):
        read_annotation(tmp_path)
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.ann: line 1"):
        read_annotation(tmp_path)


def test_label_studio_export(tmp_path: Path) -> None:
    def region(key: str, start: int, end: int, label: str) -> dict[str, object]:
        value = {"start": start, "end": end, "labels": [label]}
        return {"id": key, "type": "labels", "value": value}

    result = [
        region("r1", 0, 4, "marker"),
        region("r2", 8, 16, "modifier"),
        region("r3", 21, 29, "finding"),
        {"id": "r3", "type": "choices", "value": {"choices": ["absent"]}},
        {"type": "relation", "from_id": "r1", "to_id": "r2"},
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"id": 7, "data": {"text": TEXT}, "annotations": [{"result": result}]}]))
    (segment,) = read_annotation(path)
    assert (segment.id, segment.entities, segment.relations) == ("7", ENTITIES, {(0, 1)})


WEBANNO = """#FORMAT=WebAnno TSV 3.3
#T_SP=custom.Entity|assertion|value
#T_RL=custom.Link|kind|BT_custom.Entity


#Text=CD30 is positive. No necrosis.
1-1\t0-4\tCD30\t_\tmarker\t_\t_
1-2\t5-7\tis\t_\t_\t_\t_
1-3\t8-16\tpositive\t_\tmodifier\tresult\t1-1
1-4\t16-17\t.\t_\t_\t_\t_
1-5\t18-20\tNo\t_\t_\t_\t_
1-6\t21-29\tnecrosis\tabsent\tfinding\t_\t_
1-7\t29-30\t.\t_\t_\t_\t_
"""


def test_webanno_tsv(tmp_path: Path) -> None:
    pytest.importorskip("cassis")
    path = tmp_path / "a.tsv"
    path.write_text(WEBANNO, encoding="utf-8")
    (segment,) = read_annotation(path)
    assert segment.text == TEXT
    assert segment.entities == ENTITIES
    assert segment.relations == {(0, 1)}


def test_inception_xmi(tmp_path: Path) -> None:
    cassis = pytest.importorskip("cassis")
    types = cassis.TypeSystem()
    entity = types.create_type("custom.Entity", "uima.tcas.Annotation")
    types.create_feature(entity, "value", "uima.cas.String")
    types.create_feature(entity, "assertion", "uima.cas.String")
    link = types.create_type("custom.Link", "uima.tcas.Annotation")
    types.create_feature(link, "Governor", "custom.Entity")
    types.create_feature(link, "Dependent", "custom.Entity")
    cas = cassis.Cas(types)
    cas.sofa_string = TEXT
    made = [
        entity(begin=e.start, end=e.end, value=e.type, assertion=e.assertion if e.assertion != "present" else None)
        for e in ENTITIES
    ]
    cas.add_all(made)
    cas.add(link(begin=0, end=4, Dependent=made[0], Governor=made[1]))
    cas.to_xmi(str(tmp_path / "a.xmi"))
    with pytest.raises(InputError, match=r"TypeSystem\.xml is missing"):
        read_annotation(tmp_path / "a.xmi")
    types.to_xml(str(tmp_path / "TypeSystem.xml"))
    (segment,) = read_annotation(tmp_path / "a.xmi")
    assert segment.entities == ENTITIES
    assert segment.relations == {(0, 1)}


def test_unknown_type_and_unknown_form(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'colour' is not known; use one of site"):
        entity_type("colour", "x")
    (tmp_path / "a.docx").write_bytes(b"")
    with pytest.raises(InputError, match=r"unknown form '\.docx'"):
        read_annotation(tmp_path / "a.docx")
    with pytest.raises(InputError, match="no annotation here"):
        read_annotation(tmp_path)
