"""A model set that is not as its manifest says is refused, with the file and the remedy."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.models import graphs
from medassay.models.graphs import ModelSet, framed, open_session, stack, threads
from medassay.models.loading import load


@pytest.fixture
def copy(embedded: Path, tmp_path: Path) -> Path:
    """A model set of one's own to break: links to the large files."""
    folder = tmp_path / "set"
    folder.mkdir()
    for path in embedded.iterdir():
        if path.suffix == ".onnx":
            (folder / path.name).symlink_to(path)
        elif path.is_file():
            shutil.copy(path, folder)
    return folder


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no manifest.json.*pip install"):
        ModelSet(tmp_path)


def test_a_manifest_that_is_not_json(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ModelError, match=r"manifest.json: not JSON"):
        ModelSet(tmp_path)


def test_another_schema(tmp_path: Path) -> None:
    manifest = {"schema": 99, "set": "future", "files": [], "roles": {}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match=r"model set of schema 99, this version reads 1"):
        ModelSet(tmp_path)


@pytest.mark.parametrize("manifest", [{}, {"schema": 1}, [], None])
def test_a_manifest_of_something_else(tmp_path: Path, manifest: object) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match=r"manifest.json: not a model set's manifest"):
        ModelSet(tmp_path)


def test_a_graph_of_another_role(copy: Path) -> None:
    rewrite(copy, lambda m: m["roles"]["encoder"].update(graph="relations.onnx"))
    with pytest.raises(ModelError, match=r"relations.onnx: not the graph that this version expects"):
        load("encoder", str(copy)).embed(["tumour"])


def test_a_missing_file_is_named(copy: Path) -> None:
    (copy / "trunk.onnx").unlink()
    with pytest.raises(ModelError, match=r"trunk.onnx: missing.*pip install"):
        load("encoder", str(copy)).embed(["tumour"])


def test_a_changed_file_is_refused_before_it_is_opened(copy: Path) -> None:
    (copy / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer.json: wrong hash [0-9a-f]{12}…, expected [0-9a-f]{12}…"):
        load("encoder", str(copy)).embed(["tumour"])


def test_a_file_that_the_manifest_does_not_list(copy: Path) -> None:
    rewrite(copy, lambda m: m.update(files=[]))
    with pytest.raises(ModelError, match=r"does not list 'tokenizer.json'"):
        load("encoder", str(copy)).embed(["tumour"])


def test_a_role_that_the_set_lacks(copy: Path) -> None:
    rewrite(copy, lambda m: m["roles"].pop("expert"))
    with pytest.raises(ModelError, match=r"no model for the role 'expert'; it has"):
        ModelSet(copy).role("expert")


def test_a_broken_graph(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelError, match=r"broken.onnx: not a graph"):
        open_session(tmp_path / "broken.onnx")


def test_no_onnxruntime(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModelError, match="pip install onnxruntime"):
        open_session(tmp_path / "any.onnx")


def test_no_provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import onnxruntime

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["TensorrtExecutionProvider"])
    with pytest.raises(ModelError, match=r"no CPU provider.*pip install"):
        open_session(tmp_path / "any.onnx")


def test_the_cache_of_states_is_bounded_and_drops_the_oldest(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = ModelSet(embedded)
    rows = [framed(range(1000, 1000 + n)) for n in (5, 6, 7)]
    size = sum(one.nbytes for one in models.hidden(rows[1:]))
    monkeypatch.setattr(graphs, "CACHE_BYTES", size)
    models = ModelSet(embedded)
    for row in rows:
        models.hidden([row])
    assert list(models.hidden_cache) == rows[1:]
    assert models.hidden_bytes == sum(one.nbytes for one in models.hidden_cache.values()) <= size


def test_remembered_states_are_those_computed(embedded: Path) -> None:
    models = ModelSet(embedded)
    row = framed([2000, 2001])
    fresh = models.hidden([row])[0]
    np.testing.assert_array_equal(models.hidden([row])[0], fresh)


def test_equal_rows_are_computed_once(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = ModelSet(embedded)
    sizes: list[int] = []
    run = models.run
    monkeypatch.setattr(models, "run", lambda graph, feeds: (sizes.append(len(feeds["ids"])), run(graph, feeds))[1])
    row = framed([2000, 2001])
    first, second, third = models.hidden([row, framed([2000]), row])
    assert sum(sizes) == 2
    np.testing.assert_array_equal(first, third)
    assert len(second) == 3


def test_stack_pads_and_masks() -> None:
    hidden, mask = stack([np.ones((2, 4), np.float32), np.ones((1, 4), np.float32)])
    assert hidden.shape == (2, 8, 4)  # widths come in eights
    assert hidden[1, 1].sum() == 0
    np.testing.assert_array_equal(mask[:, :2], [[1, 1], [1, 0]])
    assert mask[:, 2:].sum() == hidden[:, 2:].sum() == 0


@pytest.mark.parametrize(("asked", "expected"), [("3", 3), ("0", None), ("many", None), ("", None)])
def test_threads_are_those_asked_for(monkeypatch: pytest.MonkeyPatch, asked: str, expected: int | None) -> None:
    monkeypatch.setenv("MEDASSAY_THREADS", asked)
    assert threads() == expected if expected else threads() >= 1


def test_products_of_bytes_are_exact_on_every_processor(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="needs the extra hf")
    helper, kinds = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["rows", "weights"], ["sums"])],
        "products",
        [helper.make_tensor_value_info("rows", kinds.UINT8, [None, 64])],
        [helper.make_tensor_value_info("sums", kinds.INT32, [None, 32])],
        [onnx.numpy_helper.from_array(np.full((64, 32), 127, np.int8), "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "products.onnx")
    (sums,) = open_session(tmp_path / "products.onnx").run(None, {"rows": np.full((2, 64), 255, np.uint8)})
    assert (sums == 64 * 255 * 127).all()
