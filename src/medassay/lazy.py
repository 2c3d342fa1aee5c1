"""Public names of a package that are imported on first use, so that importing the package loads nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, public: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's `__getattr__` and `__dir__` (PEP 562).

    Args:
        package: the package's `__name__`.
        public: each module of the package with its public names, separated by spaces.

    >>> get, names = lazy_names("medassay", {"scores": "Score Signature"})
    >>> get("Score").__name__, "Signature" in names()
    ('Score', True)
    """
    module_of = {name: module for module, names in public.items() for name in names.split()}

    def get(name: str) -> Any:
        if name in module_of:
            return getattr(import_module(f"{package}.{module_of[name]}"), name)
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return get, names
