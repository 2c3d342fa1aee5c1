"""Links, secrets, drafts, backup and replacement of annotators on the command line."""

from __future__ import annotations

import shutil

import pytest
from tests.commands.studies import TUTORIAL, new_study

from medassay.commands.annotate_manage import read_secret
from medassay.errors import InputError


def test_links_are_stable_until_renewed(command, tmp_path):
    shutil.copy(TUTORIAL / "notes.csv", tmp_path / "notes.csv")
    command("annotate", "new", "study.yaml", "--cases", "notes.csv", "--annotators", "anna,ben")
    first = command("annotate", "links", "study.yaml").split()
    assert command("annotate", "links", "study.yaml").split() == first
    renewed = command("annotate", "links", "study.yaml", "--renew", "anna").split()
    assert renewed[1] != first[1] and renewed[3:] == first[3:]
    with pytest.raises(InputError, match="did you mean 'anna'"):
        command("annotate", "links", "study.yaml", "--renew", "ana")


def test_coordinators_by_name_with_renewable_links(command, tmp_path):
    new_study(command, tmp_path, "--coordinators", "kim,lee")
    first = dict(line.split() for line in command("annotate", "links", "study.yaml").splitlines())
    assert list(first) == ["anna", "ben", "kim", "lee"]
    again = dict(line.split() for line in command("annotate", "links", "study.yaml", "--renew", "kim").splitlines())
    assert again["kim"] != first["kim"] and {**again, "kim": ""} == {**first, "kim": ""}


def test_a_secret_for_each_coordinator(tmp_path, monkeypatch):
    monkeypatch.delenv("MEDASSAY_SECRET", raising=False)
    path = tmp_path / "secret"
    assert read_secret(None) is None
    path.write_text("one secret for all of them\n", encoding="utf-8")
    assert read_secret(path) == "one secret for all of them"
    path.write_text("kim: a secret of her own\nlee: and one of his\n", encoding="utf-8")
    assert read_secret(path) == {"kim": "a secret of her own", "lee": "and one of his"}
    path.write_text("kim: a secret\nnonsense\n", encoding="utf-8")
    with pytest.raises(InputError, match="name: secret"):
        read_secret(path)


def test_backup_restore_and_replace_on_the_command_line(command, tmp_path):
    new_study(command, tmp_path)
    links = command("annotate", "links", "study.yaml")
    assert "0 changes written" in command("annotate", "backup", "study.yaml", "--out", "copy.zip")
    assert "restored and checked" in command("annotate", "restore", "copy.zip", "back")
    assert command("annotate", "links", "back/study.yaml") == links
    assert "takes over 6 cases" in command("annotate", "replace", "study.yaml", "--annotator", "ben", "--by", "dee")
    assert command("annotate", "links", "study.yaml").split()[::2] == ["anna", "dee", "coordinator"]
    (tmp_path / "study.db").unlink()
    with pytest.raises(InputError, match="annotate restore"):
        command("annotate", "check", "study.yaml")


def test_a_draft_is_refused_in_a_blinded_study(command, tmp_path):
    new_study(command, tmp_path)
    with pytest.raises(InputError, match="blinded"):
        command("annotate", "draft", "study.yaml")
    assert "0 tasks" in command("annotate", "draft", "study.yaml", "--off")
