"""The cores that this process may use: by its affinity and by its container's quota."""

from __future__ import annotations

import math
import os
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")


def cores() -> int:
    """Whole cores to fill, at least 1: what the scheduler allows, and no more than a container's quota."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = container_quota(_GROUP)
    return max(1, allowed if quota is None else min(allowed, math.ceil(quota)))


def one_thread_for_blas() -> None:
    """Limit NumPy's matrix products to one thread each; to be called before numpy is imported.

    The matrices here are small, and the work is already divided among processes: more threads only wait.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def container_quota(group: Path) -> float | None:
    """Cores granted by the control group (version 2, then 1); None where there is no limit."""
    try:
        limit, period = (group / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            limit = (group / "cpu/cpu.cfs_quota_us").read_text().strip()
            period = (group / "cpu/cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    if not limit.isdigit() or not period.isdigit() or int(period) == 0:
        return None  # "max" and -1: no limit
    return int(limit) / int(period)
