"""Opening a study, its files, and files that only their owner may read."""

from __future__ import annotations

import pytest
from tests.commands.studies import new_study

from medassay.commands.annotate_study import open_store, open_study, restrict_to_owner, study_files
from medassay.errors import MedassayError


def test_a_study_is_made_of_its_files(command, tmp_path):
    new_study(command, tmp_path)
    names = {path.name for path in study_files(tmp_path / "study.yaml")}
    assert names == {"study.yaml", "notes.csv", "study.key", "study.begun", "study.db"}
    assert study_files(tmp_path / "counts.csv") == [tmp_path / "counts.csv"]


def test_a_study_and_its_database_are_opened(command, tmp_path):
    new_study(command, tmp_path)
    assert len(open_study(tmp_path / "study.yaml").units()) > 0
    store = open_store(tmp_path / "study.yaml")
    assert {task.annotator for task in store.tasks()} == {"anna", "ben"}
    store.close()
    with pytest.raises(MedassayError):
        open_study(tmp_path / "absent.yaml")


def test_a_restricted_file_is_read_by_its_owner_only(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("id\n", encoding="utf-8")
    path.chmod(0o644)
    restrict_to_owner(path)
    assert path.stat().st_mode & 0o777 == 0o600
