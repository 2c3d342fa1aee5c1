"""Which model each metric takes: the preset `paper`, models files with sections, folders that hold one."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.errors import ModelError, UnknownName
from medassay.models.loading import PAPER, ROLES, resolve
from medassay.models.sources import FILE, find_file, for_metric, read_paper, write_models_file

BLEURT, DEBERTA = "lucadiliello/BLEURT-20", "microsoft/deberta-xlarge-mnli"


@pytest.mark.parametrize(
    ("metric", "role", "source"),
    [
        ("bertscore", "encoder", DEBERTA),
        ("medbertscore", "encoder", DEBERTA),
        ("bleurt", "quality", BLEURT),
        ("clinicalbleurt", "quality", "embedded"),
        ("fidelity", "quality", "embedded"),
        ("logic", "nli", "cross-encoder/nli-deberta-v3-base"),
        ("grounding", "image", "vinid/plip"),
        ("hare", "ner", "knowlab-research/HARE-NER"),
        ("hare", "re", "knowlab-research/HARE-RE"),
        ("hare", "align", "knowlab-research/HARE-alignment"),
        ("mist", "kge", "embedded"),
    ],
)
def test_the_papers_model_of_each_metric(metric: str, role: str, source: str, tmp_path: Path) -> None:
    assert resolve(role, for_metric(metric, "paper")) == source
    copied(tmp_path)
    expected = "embedded" if source == "embedded" else str(tmp_path / role)
    assert resolve(role, for_metric(metric, str(tmp_path))) == expected


def copied(folder: Path) -> None:
    """The folder that `models fetch paper --to` leaves, with empty models."""
    for role in PAPER:
        (folder / role).mkdir()
    write_models_file(folder, read_paper())


def test_what_is_not_to_be_had_is_said_until_it_is_there(tmp_path: Path) -> None:
    copied(tmp_path)
    for spec in ("paper", str(tmp_path)):
        with pytest.raises(ModelError, match=r"not to be had: BARTScore's BART .* models convert"):
            resolve("likelihood", spec)
    (tmp_path / "likelihood").mkdir()
    assert resolve("likelihood", str(tmp_path)) == str(tmp_path / "likelihood")


def test_sections_of_a_file_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "large").mkdir()
    (tmp_path / FILE).write_text('encoder = "paper"\n\n[bertscore]\nencoder = "large"\n', encoding="utf-8")
    for spec in (str(tmp_path), str(tmp_path / FILE)):
        assert resolve("encoder", for_metric("stability", spec)) == DEBERTA
        marked = for_metric("bertscore", spec)
        assert resolve("encoder", marked) == str(tmp_path / "large")
        assert for_metric("stability", marked) == spec, "a member of an ensemble takes its own models"
    assert find_file("some/name") is None and find_file("embedded") is None


def test_a_folder_with_a_mark_in_its_name(tmp_path: Path) -> None:
    odd = tmp_path / "a#bleurt"
    (odd / "ner").mkdir(parents=True)
    assert resolve("ner", str(odd)) == str(odd / "ner")
    assert resolve("re", str(odd)) == "embedded"


@pytest.mark.parametrize("content", ["[bertscore]\nencodr = 'x'", "[unavailable]\nencodr = 'x'"])
def test_an_unknown_role_in_a_section(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content, encoding="utf-8")
    with pytest.raises(UnknownName, match="no model role 'encodr'"):
        resolve("encoder", str(tmp_path))


def test_the_preset_names_known_roles_and_metrics() -> None:
    from medassay.metrics.registry import names

    paper = read_paper()
    assert set(paper.roles) | set(paper.unavailable) <= set(ROLES)
    assert set(paper.metrics) <= set(names())
