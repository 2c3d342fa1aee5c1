"""INCEpTION: entities written as UIMA CAS and read back."""

from __future__ import annotations

import zipfile

import pytest

from medassay.errors import InputError

RECORD = {
    "id": "report 1",
    "text": "😀 No lymphovascular invasion. CD30 positive.",
    "entities": [
        {"start": 5, "end": 28, "type": "finding", "assertion": "absent", "concept": None},
        {"start": 30, "end": 34, "type": "marker", "assertion": "present", "concept": {"id": "X:1"}},
        {"start": 35, "end": 43, "type": "modifier", "assertion": "present", "concept": None},
    ],
    "relations": [{"head": 1, "tail": 2, "type": "marker-modifier"}],
}


def test_entities_survive_the_way_to_inception_and_back(tmp_path):
    pytest.importorskip("cassis")
    from medassay.human import inception

    assert inception.write([RECORD], tmp_path / "out") == 1
    (back,) = inception.read(tmp_path / "out")
    assert back["id"] == "report 1" and back["text"] == RECORD["text"]
    assert [(e["start"], e["end"], e["type"], e["assertion"]) for e in back["entities"]] == [
        (5, 28, "finding", "absent"), (30, 34, "marker", "present"), (35, 43, "modifier", "present"),
    ]  # fmt: skip
    assert [e["text"] for e in back["entities"]][1] == "CD30"
    assert back["relations"] == [{"head": 1, "tail": 2, "type": "marker-modifier", "score": None}]


def test_a_zip_export_and_json_are_read_too(tmp_path):
    cassis = pytest.importorskip("cassis")
    from medassay.human import inception

    inception.write([RECORD], tmp_path / "out")
    xmi = next((tmp_path / "out").glob("*.xmi"))
    with zipfile.ZipFile(tmp_path / "inner.zip", "w") as inner:
        inner.write(xmi, "report.xmi")
        inner.write(tmp_path / "out" / "TypeSystem.xml", "TypeSystem.xml")
    with zipfile.ZipFile(tmp_path / "project.zip", "w") as outer:
        outer.write(tmp_path / "inner.zip", "annotation/report.txt/anna.zip")
    assert len(inception.read(tmp_path / "project.zip")[0]["entities"]) == 3
    types = cassis.load_typesystem((tmp_path / "out" / "TypeSystem.xml").open("rb"))
    cas = cassis.load_cas_from_xmi(xmi.open("rb"), typesystem=types)
    (tmp_path / "report.json").write_text(cas.to_json(), encoding="utf-8")
    assert inception.read(tmp_path / "report.json")[0]["entities"][1]["text"] == "CD30"


def test_a_broken_cas_is_named(tmp_path):
    pytest.importorskip("cassis")
    from medassay.human import inception

    (tmp_path / "x.xmi").write_text("<oops", encoding="utf-8")
    with pytest.raises(InputError, match="TypeSystem"):
        inception.read(tmp_path / "x.xmi")
    (tmp_path / "y.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="not a readable UIMA CAS"):
        inception.read(tmp_path / "y.json")
    with pytest.raises(InputError, match="no such file"):
        inception.read(tmp_path / "none.xmi")
