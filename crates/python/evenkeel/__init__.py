"""Schedulers and runtimes for asymmetric multicores: simulate, compare, reproduce, sweep.

A first look::

    import evenkeel

    run = evenkeel.simulate("Sync-2", "2B2S", "colab")
    compared = evenkeel.compare("Sync-2", "2B2S", ["cfs", "gts", "colab"])
    print(compared.headline)
    polars.DataFrame(compared.runs)

``evenkeel.plots`` draws results; ``evenkeel.Policy`` is what a policy written in Python extends.
"""

from __future__ import annotations

import json as _json
from typing import Any

from ._native import (
    Changes,
    Comparison,
    Conformance,
    Difference,
    Error,
    Grid,
    Machine,
    Pick,
    Policy,
    Queue,
    Recording,
    Reproduction,
    Run,
    Span,
    State,
    Sweep,
    Table,
    Thread,
    Why,
    Workload,
    __version__,
    compare,
    conformance,
    difference,
    merge,
    read_counters,
    read_trace,
    reproduce,
    simulate,
)
from ._native import (
    lists as _lists,
)
from ._sweeps import open_sweep, sweep

__all__ = [
    "Changes",
    "Comparison",
    "Conformance",
    "Difference",
    "Error",
    "Grid",
    "Machine",
    "Pick",
    "Policy",
    "Queue",
    "Recording",
    "Reproduction",
    "Run",
    "Span",
    "State",
    "Sweep",
    "Table",
    "Thread",
    "Why",
    "Workload",
    "__version__",
    "compare",
    "conformance",
    "difference",
    "experiments",
    "machines",
    "merge",
    "open_sweep",
    "policies",
    "read_counters",
    "read_trace",
    "reproduce",
    "simulate",
    "sweep",
    "workloads",
]


def machines() -> list[dict[str, Any]]:
    """The bundled machines: name, description, clusters and cores of each."""
    listed: list[dict[str, Any]] = _json.loads(_lists("machines"))["machines"]
    return listed


def workloads() -> dict[str, Any]:
    """The bundled workloads: single programs, programs made of tasks, and mixes."""
    listed: dict[str, Any] = _json.loads(_lists("workloads"))
    return listed


def policies() -> list[dict[str, Any]]:
    """The policies: name, summary, source and knobs of each."""
    listed: list[dict[str, Any]] = _json.loads(_lists("policies"))["policies"]
    return listed


def experiments() -> list[str]:
    """The papers' evaluations that :func:`reproduce` knows."""
    listed: list[str] = _json.loads(_lists("experiments"))
    return listed
