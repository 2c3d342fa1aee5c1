"""`python -I convert_weights.py SOURCE TARGET`: the tensors of a pickled file as safetensors; prints their names.

Run by `converting.py` in a process of its own; imports nothing of this package.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def tensors_of(loaded: Any) -> dict[str, Any]:
    """The named tensors of a loaded file, each with memory of its own: a state dict, or one under `state_dict`."""
    import torch

    if isinstance(loaded, dict) and isinstance(loaded.get("state_dict"), dict):
        loaded = loaded["state_dict"]
    if not isinstance(loaded, dict) or not loaded:
        raise ValueError("not a table of named tensors")
    tensors = {}
    for name, value in loaded.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise ValueError(f"'{name}' is no tensor")
        tensors[name] = value.detach().clone().contiguous()
    return tensors


def main(source: str, target: str) -> None:
    """Convert the pickled file `source` to the safetensors file `target` and print the tensors' names as JSON."""
    import torch
    from safetensors.torch import save_file

    tensors = tensors_of(torch.load(source, map_location="cpu", weights_only=True))
    save_file(tensors, target, metadata={"format": "pt"})
    print(json.dumps(sorted(tensors)))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:3])
    except Exception as error:  # whatever a hostile file provokes ends here, in one line
        lines = str(error).strip().splitlines() or [""]
        sys.exit(f"{type(error).__name__}: {lines[0][:300]}")
