"""What plots read of the tables of runs: the columns that are needed, those runs that can be compared, and their differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import evenkeel

#: The metrics of a run: what an axis calls them, and whether higher is better.
METRICS = {
    "makespan_s": ("makespan, s", False),
    "h_antt": ("H_ANTT", False),
    "h_stp": ("H_STP", True),
    "energy_j": ("energy, J", False),
    "edp": ("energy x delay, Js", False),
    "migrations": ("migrations", False),
    "context_switches": ("context switches", False),
    "preemptions": ("preemptions", False),
    "wakeup_mean_s": ("mean wake-up latency, s", False),
    "wakeup_max_s": ("longest wake-up latency, s", False),
}

#: What tells runs apart beside policy and seed, and whether they came to their end.
_IDENTITY = ("workload", "machine", "order", "error")
_VARIED = ("machine.", "workload.", "conditions.")
#: How many colours there are.
_COLORS = 8


def columns_of(table: Any, what: str, *needed: str) -> dict[str, list[Any]]:
    """Of a table of whichever package the columns that are needed, and those by which runs are told apart."""
    taken = table if hasattr(table, "to_pydict") else evenkeel.Table(table)
    names = list(taken.column_names if hasattr(taken, "column_names") else taken.to_pydict())
    for column in needed:
        if column not in names:
            raise ValueError(
                f"no column {column!r}: expected a table of {what}, found {', '.join(names)}"
            )
    wanted = [name for name in names if name in (*needed, *_IDENTITY) or name.startswith(_VARIED)]
    if isinstance(taken, evenkeel.Table):
        return {name: taken[name] for name in wanted}
    columns = taken.to_pydict()
    return {name: columns[name] for name in wanted}


def comparable(
    runs: Any, metrics: Sequence[str], by: Sequence[str], apart: Sequence[str] = ()
) -> tuple[dict[str, list[Any]], str]:
    """The runs of a comparison, a sweep or a table, and its first policy.

    What cannot be compared fairly is left out: workloads on machines of which some run has no such metric, and, of what is told
    ``apart``, those of which that is so for one.
    """
    for metric in metrics:
        if metric not in METRICS:
            raise ValueError(f"metric {metric!r}: expected one of {', '.join(METRICS)}")
    table = getattr(runs, "runs", runs)
    columns = columns_of(table, "runs", "policy", "seed", *metrics, *by)
    for column in by:
        if any(isinstance(value, (list, dict)) for value in columns[column]):
            raise ValueError(f"by={column!r}: expected a column of names or numbers, found lists")
    own = list(zip(*(columns[name] for name in apart))) or [()] * len(columns["policy"])
    cell_of = [
        name
        for name in ("workload", "machine", *_varied(columns))
        if name in columns and name not in apart and not _follows(columns[name], own)
    ]
    cells = list(zip(*(columns[name] for name in cell_of))) or [()] * len(own)
    errors = columns.get("error", [None] * len(cells))
    missing = {
        cell
        for row, cell in enumerate(cells)
        if errors[row] is not None or not all((columns[metric][row] or 0) > 0 for metric in metrics)
    }
    if apart:
        # Nor what only some have, as in a table that is not whole.
        again = [columns[name] for name in ("policy", "order", "seed") if name in columns]
        again = [values for values in again if not any(values is columns[name] for name in apart)]
        done: dict[Any, dict[Any, set[Any]]] = {}
        for row, cell in enumerate(cells):
            of_cell = done.setdefault(cell, {})
            of_cell.setdefault(own[row], set()).add(tuple(values[row] for values in again))
        every = set(own)
        missing |= {
            cell
            for cell, of_own in done.items()
            if set(of_own) != every or len({frozenset(runs) for runs in of_own.values()}) > 1
        }
    kept = {
        name: [value for value, cell in zip(values, cells) if cell not in missing]
        for name, values in columns.items()
    }
    if not kept["policy"]:
        found = " and ".join(metrics)
        raise ValueError(f"no workload on a machine has {found} above zero in all of its runs")
    return kept, columns["policy"][0]


def _follows(values: Sequence[Any], own: Sequence[tuple[Any, ...]]) -> bool:
    """Whether a value is the same wherever what is told apart is: as a frequency, if machines are told apart by theirs."""
    having = {key for key, value in zip(own, values) if value is not None}
    if having and having != set(own):
        # Some of them have no such value: no cell would be of all.
        return True
    seen = dict(zip(own, values))
    return all(seen[key] == value for key, value in zip(own, values))


def _varied(columns: dict[str, list[Any]]) -> list[str]:
    """The columns of what a sweep has varied, but for knobs, which are part of a policy's name."""
    return [name for name in columns if name.startswith(_VARIED)]


def differences(
    columns: dict[str, list[Any]], metric: str, baseline: str, by: str
) -> dict[tuple[str, Any], Any]:
    """By policy and group, and `all` groups, the difference from the baseline."""
    same = [name for name in ("workload", "machine", "order", *_varied(columns)) if name in columns]
    value: dict[tuple[Any, ...], float] = {}
    for row, policy in enumerate(columns["policy"]):
        value[(policy, columns["seed"][row], *(columns[name][row] for name in same))] = columns[
            metric
        ][row]
    pairs: dict[tuple[str, Any], dict[int, list[tuple[float, float]]]] = {}
    for row, policy in enumerate(columns["policy"]):
        seed, *cell = columns["seed"][row], *(columns[name][row] for name in same)
        before, after = value.get((baseline, seed, *cell)), columns[metric][row]
        if policy == baseline or before is None:
            continue
        for group in (columns[by][row], "all"):
            pairs.setdefault((policy, group), {}).setdefault(seed, []).append((before, after))
    return {key: evenkeel.difference(list(of_seeds.values())) for key, of_seeds in pairs.items()}


def policy_colors(policies: Sequence[str]) -> list[int]:
    """The colours of policies that stand side by side, as pages have them: each its own, unless another one has it already.

    Where there are more than colours, the rest have them a second time.
    """
    known = [policy["name"] for policy in evenkeel.policies()]
    taken: list[int] = []
    for policy in policies:
        name = policy.split(":")[0]
        own = known.index(name) % _COLORS if name in known else 0
        wanted = [own, *range(_COLORS), own + _COLORS, *range(_COLORS, 2 * _COLORS)]
        taken.append(next((color for color in wanted if color not in taken), own))
    return taken


def distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean."""
    found = evenkeel.difference([[(1.0, value) for value in values]])
    return float("nan") if found is None else 1 + found.percent / 100
