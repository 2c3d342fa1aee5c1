from __future__ import annotations

from pathlib import Path

from benchmarks.__main__ import ALL, main
from benchmarks.figures import Figure
from benchmarks.page import keep, read, write_page
from benchmarks.profiling import room_of

from medassay.models import roles


def test_a_section_measured_again_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    kept = page.with_suffix(".json")
    keep(kept, "links", "Links", "a machine", [Figure("speed", "1 | s", "2 s", False)])
    keep(kept, "links", "Links", "a machine", [Figure("speed", "3 | s", "2 s", True), Figure("size", "4 MB", "")])
    assert [figure["measured"] for figure in read(kept)["links"]["figures"]] == ["3 | s", "4 MB"]
    write_page(page, ["links", "memory"])
    text = page.read_text(encoding="utf-8")
    assert "| speed | 3 / s |\n| size | 4 MB |\n" in text
    assert "## Not measured yet\n\nmemory." in text


def test_a_machine_is_described_once(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for name, load in (("links", "0.9"), ("memory", "2.0")):
        machine = f"CPU, 2 cores, load {load}; Python 3"
        keep(page.with_suffix(".json"), name, name, machine, [Figure("size", "4 MB", "")])
    write_page(page, ["links", "memory"])
    text = page.read_text(encoding="utf-8")
    assert text.count("CPU, 2 cores; Python 3") == 1
    assert "UTC, machine 1, load 0.9." in text and "UTC, machine 1, load 2.0." in text


def test_the_page_is_what_is_kept(tmp_path: Path) -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    (tmp_path / "page.json").write_bytes((docs / "benchmarks.json").read_bytes())
    write_page(tmp_path / "page.md", list(ALL))
    assert (tmp_path / "page.md").read_bytes() == (docs / "benchmarks.md").read_bytes()


def test_an_unknown_benchmark_is_refused(capsys: object) -> None:
    assert main(["nonesuch"]) == 2


def test_every_benchmark_is_there() -> None:
    from importlib import import_module

    for _, place in ALL.values():
        module, _, function = place.partition(":")
        assert callable(getattr(import_module(f"benchmarks.{module}"), function))


def test_time_is_counted_to_rooms_and_libraries() -> None:
    assert room_of(roles.__file__, "without_overlaps") == "models"
    assert room_of("~", "<method 'finditer' of 're.Pattern' objects>") == "re"
    assert room_of("~", "<built-in method onnxruntime.capi.onnxruntime_pybind11_state.run>") == "onnxruntime"
    assert room_of("/usr/lib/python3/json/decoder.py", "decode") == "json"
