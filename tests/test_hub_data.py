"""Data sets of the hub: what is asked of the library `datasets`, what comes of its answers, and the library itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from medassay import hub_data
from medassay.api import FileRun, metrics_for
from medassay.cases import read_cases
from medassay.errors import InputError, MissingExtra
from medassay.metrics.registry import load_metrics

ROWS = [
    {"id": "a", "said": "no tumor seen", "gt": "no tumor", "year": 2020, "scan": b"\x89PNG"},
    {"id": "b", "said": "gastritis", "gt": "chronic gastritis", "year": 2021, "scan": b"\x89PNG"},
]


class Picture:
    def decode_example(self) -> None:
        raise AssertionError("nothing is to be decoded")


class Batch(list[dict[str, Any]]):
    def to_pylist(self) -> list[dict[str, Any]]:
        return list(self)


class Table:
    """What we ask of a `datasets.Dataset`."""

    def __init__(self, rows: list[dict[str, Any]], split: str | None = None) -> None:
        self.rows, self.split = rows, split
        self.features = {column: Picture() if column == "scan" else object() for column in rows[0]}

    def select_columns(self, names: list[str]) -> Table:
        return Table([{name: row[name] for name in names} for row in self.rows], self.split)

    def with_format(self, kind: str) -> Table:
        assert kind == "arrow"
        return self

    def iter(self, batch_size: int) -> Iterator[Batch]:
        for start in range(0, len(self.rows), batch_size):
            yield Batch(self.rows[start : start + batch_size])

    def __len__(self) -> int:
        return len(self.rows)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str | None]]]:
    """A library that knows one data set; what it was asked for."""
    calls: list[tuple[str, str | None]] = []

    def load_dataset(path: str, subset: str | None = None) -> dict[str, Table]:
        calls.append((path, subset))
        if path == "owner/one":
            return {"train": Table(ROWS)}
        if path != "owner/notes":
            raise FileNotFoundError(f"Dataset '{path}' doesn't exist\non the Hub")
        return {"train": Table(ROWS[:1]), "test": Table(ROWS)}

    library = ModuleType("datasets")
    library.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", library)
    hub_data.opened.cache_clear()
    yield calls
    hub_data.opened.cache_clear()


def test_its_rows_are_cases(asked: list[tuple[str, str | None]]) -> None:
    rows = list(read_cases("hf:owner/notes:test", {"candidate": "said", "reference": "gt"}))
    assert [(row.number, row.case.id, row.case.reference) for row in rows if row.case] == [
        (1, "a", "no tumor"),
        (2, "b", "chronic gastritis"),
    ]
    assert rows[0].case is not None and dict(rows[0].case.extra) == {"year": 2020}
    list(read_cases("hf:owner/notes:test", {"candidate": "said"}))
    assert asked == [("owner/notes", None)], "opened once, however often it is read"


def test_a_run_over_it_writes_what_a_run_over_a_file_writes(
    asked: list[tuple[str, str | None]], tmp_path: Path
) -> None:
    columns = {"candidate": "said", "reference": "gt"}
    (tmp_path / "rows.csv").write_text(
        "id,said,gt,year\n" + "".join(f"{row['id']},{row['said']},{row['gt']},{row['year']}\n" for row in ROWS)
    )
    for cases, out in (("hf:owner/notes:test", "hub.csv"), (str(tmp_path / "rows.csv"), "file.csv")):
        FileRun(cases, load_metrics("rouge1"), columns=columns, out=tmp_path / out).run()
    assert (tmp_path / "hub.csv").read_text() == (tmp_path / "file.csv").read_text()
    assert "rouge1" in metrics_for("hf:owner/notes:test", columns)


def test_a_subset_is_passed_on_and_one_split_needs_no_name(asked: list[tuple[str, str | None]]) -> None:
    assert hub_data.data_set_length("hf:owner/notes:sections:test") == 2
    assert hub_data.data_set_length("hf:owner/one") == 2
    assert asked == [("owner/notes", "sections"), ("owner/one", None)]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hf:owner/notes", "has several splits; name one of train, test, as in hf:owner/notes:test$"),
        ("hf:owner/notes:dev", "no split 'dev'; name one of train, test, as in hf:owner/notes:test$"),
        ("hf:owner/gone:test", r"cannot be loaded \(Dataset 'owner/gone' doesn't exist on the Hub\); is the name"),
        ("hf:", "write hf:owner/name, hf:owner/name:split"),
        ("hf:a:b:c:d", "write hf:owner/name, hf:owner/name:split"),
    ],
)
def test_what_cannot_be_meant_is_said(asked: list[tuple[str, str | None]], name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_cases(name))


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    hub_data.opened.cache_clear()
    with pytest.raises(MissingExtra, match=r"hf:owner/notes:test needs the extra 'datasets': pip install"):
        list(read_cases("hf:owner/notes:test"))


def test_the_library_itself_reads_a_saved_data_set(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    texts = [{key: row[key] for key in ("id", "said", "gt", "year")} for row in ROWS]
    table = datasets.Dataset.from_list(texts)
    datasets.DatasetDict({"train": table.select([0]), "test": table}).save_to_disk(tmp_path / "saved")
    table.save_to_disk(tmp_path / "plain")
    assert [dict(record) for _, record in hub_data.data_set_records(f"hf:{tmp_path}/saved:test")] == texts
    assert hub_data.data_set_length(f"hf:{tmp_path}/saved:train") == 1
    assert hub_data.data_set_length(f"hf:{tmp_path}/plain") == 2
    with pytest.raises(InputError, match="is one table without splits; leave ':dev' out"):
        hub_data.data_set_length(f"hf:{tmp_path}/plain:dev")


def test_the_library_itself_reads_a_folder_and_what_it_kept_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "test.csv").write_text("id,said\na,no tumor\n")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "kept")
    assert list(hub_data.data_set_records(f"hf:{tmp_path}/notes:test")) == [(1, {"id": "a", "said": "no tumor"})]
    # What the library keeps of a data set of the hub: the same files under the owner's name and a commit.
    (made,) = (tmp_path / "kept" / "notes" / "default" / "0.0.0").glob("*/")
    kept = tmp_path / "kept" / "owner___notes" / "default" / "0.0.0"
    kept.mkdir(parents=True)
    made.rename(kept / ("0123456789" * 4))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    assert list(hub_data.data_set_records("hf:owner/notes:test")) == [(1, {"id": "a", "said": "no tumor"})]
