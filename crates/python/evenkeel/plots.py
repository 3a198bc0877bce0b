"""Plots that a paper could print, with matplotlib.

A policy has the colour that it has on Evenkeel's pages. Each function draws into ``ax``, or into a figure of its own as wide as a column, and returns the axes. Tables are those of
runs, comparisons and sweeps, or any others in Arrow's format with the same columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import wraps
from itertools import accumulate
from typing import Any, Callable, TypeVar, Union, cast

import evenkeel
from evenkeel import _tables
from evenkeel._tables import METRICS as METRICS

try:
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    import numpy as np
    from cycler import cycler
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
except ImportError as missing:
    raise ImportError(
        "evenkeel.plots draws with matplotlib, which is not installed: pip install matplotlib"
    ) from missing

#: The colours of Evenkeel's pages, in their order. Colour-blind people tell them apart, and so do readers of a print without colour.
COLORS = ["#1d2fbd", "#b36104", "#239598", "#b20a2b", "#8e35f7", "#92047e", "#5d1f3c", "#8d4f69"]

_STYLE: dict[Any, Any] = {
    "figure.figsize": (3.35, 2.3),
    "figure.dpi": 150,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 300,
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=COLORS),
}

Runs = Union["evenkeel.Run", Sequence["evenkeel.Run"], Mapping[str, "evenkeel.Run"]]


_Draw = TypeVar("_Draw", bound=Callable[..., Axes])


@contextmanager
def style() -> Iterator[None]:
    """How the figures of this module look: ``with plots.style(): ...`` draws others like them."""
    # Not `mpl.rc_context`, which puts back all settings: also those that a notebook's first figure makes.
    before = {key: mpl.rcParams[key] for key in _STYLE}
    mpl.rcParams.update(_STYLE)
    try:
        yield
    finally:
        mpl.rcParams.update(before)


def _styled(draw: _Draw) -> _Draw:
    """Draws in the style of this module, unless into axes of the caller's."""

    @wraps(draw)
    def styled(*arguments: Any, **options: Any) -> Axes:
        with nullcontext() if options.get("ax") is not None else style():
            return draw(*arguments, **options)

    return cast("_Draw", styled)


@_styled
def bars(
    runs: Any,
    metric: str = "h_antt",
    *,
    baseline: str | None = None,
    by: str = "workload",
    ax: Axes | None = None,
) -> Axes:
    """How much each policy differs from the baseline, in percent, with 95 % intervals from seed to seed.

    ``runs`` is a comparison, or a table of runs whose baseline is its first policy unless ``baseline`` names one. There is a group of
    bars for each value of the column ``by``, and one for all of them. Runs are compared in pairs that differ in the
    policy only. A pale bar is not told apart from zero.
    """
    columns, first = _tables.comparable(runs, [metric], [by])
    named = baseline or getattr(runs, "baseline", None) or first
    policies = _tables.distinct(columns["policy"])
    if named not in policies:
        raise ValueError(f"baseline {named!r}: expected one of {', '.join(policies)}")
    others = [policy for policy in policies if policy != named]
    if not others:
        raise ValueError(f"only {named} was run: expected another policy to set beside it")
    groups = _tables.distinct(columns[by])
    if len(groups) > 1:
        groups.append("all")
    found = _tables.differences(columns, metric, named, by)
    if not any(found.values()):
        raise ValueError(
            f"no {metric} to compare with {named}: expected runs that differ in the policy only,"
            " with values above zero"
        )
    label, higher = METRICS[metric]
    ax = _axes(ax)
    width = 0.8 / len(others)
    colors = dict(zip(policies, _tables.policy_colors(policies)))
    for number, policy in enumerate(others):
        color = _color(colors[policy])
        for place, group in enumerate(groups):
            difference = found.get((policy, group))
            if difference is None:
                continue
            at = place + (number - (len(others) - 1) / 2) * width
            percent = difference.percent
            sure = difference.clear
            ax.bar(at, percent, width * 0.92, color=color, alpha=1.0 if sure else 0.45, linewidth=0)
            if difference.low is not None:
                ends = [[percent - difference.low], [difference.high - percent]]
                ax.errorbar(
                    at, percent, ends, color="black", linewidth=0.7, capsize=1.5, capthick=0.7
                )
        ax.bar(0, 0, color=color, label=policy)
    ax.axhline(0, color="black", linewidth=0.6)
    crowded = sum(len(str(group)) for group in groups) > 40
    ax.set_xticks(
        range(len(groups)), [str(group) for group in groups], rotation=30 if crowded else 0
    )
    if crowded:
        plt.setp(ax.get_xticklabels(), ha="right", rotation_mode="anchor")
    ax.set_ylabel(
        f"{label.split(',')[0]} against {named}, %\n({'higher' if higher else 'lower'} is better)"
    )
    ax.legend(ncols=min(len(others), 4), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


@_styled
def figure(
    reproduction: evenkeel.Reproduction,
    name: str | None = None,
    panel: int = 1,
    *,
    ax: Axes | None = None,
) -> Axes:
    """A figure of a paper: what it published, pale with an outline, beside what comes out here.

    ``name`` is one of those in the column ``figure`` of ``reproduction.figures``, the first unless it is given; a figure with several
    vertical axes has as many panels, from 1. An arrow marks a limit, where the paper gives no number. A line is the 95 % interval from
    seed to seed of what comes out here: with one seed there is none, nor of amounts or of what is picked out of several values. Papers
    give none.
    """
    columns = _tables.columns_of(
        reproduction.figures, "figures", "figure", "panel", "axis", "base", "better", "group", "series",
        "color", "published", "simulated", "low", "high", "bound",
    )  # fmt: skip
    names = _tables.distinct(columns["figure"])
    if not names:
        raise ValueError("no published number is from a figure: expected another reproduction")
    name = names[0] if name is None else name
    if name not in names:
        raise ValueError(f"figure {name!r}: expected one of {', '.join(names)}")
    panels = _tables.distinct(p for f, p in zip(columns["figure"], columns["panel"]) if f == name)
    if panel not in panels:
        raise ValueError(
            f"panel {panel!r} of {name}: expected one of {', '.join(map(str, panels))}"
        )
    rows = [
        row
        for row in range(len(columns["figure"]))
        if (columns["figure"][row], columns["panel"][row]) == (name, panel)
    ]
    of = {key: [column[row] for row in rows] for key, column in columns.items()}
    # Two groups of one label are two groups, as on the page: a series is in each of them once.
    groups: list[tuple[str, list[int]]] = []
    for at, (label, series) in enumerate(zip(of["group"], of["series"])):
        if (
            not groups
            or groups[-1][0] != label
            or series in (of["series"][i] for i in groups[-1][1])
        ):
            groups.append((label, []))
        groups[-1][1].append(at)
    ax = _axes(ax)
    ticks, left = [], 0.0
    for _, members in groups:
        for index, at in enumerate(members):
            _pair(ax, left + index, {key: column[at] for key, column in of.items()})
        ticks.append(left + (len(members) - 1) / 2)
        left += len(members) + 0.6
    labels = [label for label, _ in groups]
    crowded = sum(max(map(len, label.split("\n"))) for label in labels) > 40
    turned = 0 if not crowded else 30 if len(labels) <= 12 else 90
    ax.set_xticks(ticks, labels, rotation=turned)
    if crowded:
        plt.setp(
            ax.get_xticklabels(),
            ha="right",
            va="center" if turned == 90 else "top",
            rotation_mode="anchor",
        )
    ax.axhline(of["base"][0], color="black", linewidth=0.6)
    better = next((word for word in of["better"] if word), None)
    ax.set_ylabel(of["axis"][0] + (f"\n({better} is better)" if better else ""))
    series = dict(zip(of["series"], of["color"]))
    handles = [plt.Rectangle((0, 0), 1, 1, color=_color(color)) for color in series.values()]
    outline = plt.Rectangle((0, 0), 1, 1, facecolor="0.85", edgecolor="0.3", linewidth=0.8)
    ax.legend(
        [*handles, outline, plt.Rectangle((0, 0), 1, 1, color="0.3")],
        [*series, "published", "simulated"],
        ncols=min(len(series) + 2, 4),
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
    )
    return ax


def _color(number: int) -> str:
    return COLORS[number % len(COLORS)]


def _lines(labelled: list[tuple[str, evenkeel.Run]]) -> list[dict[str, Any]]:
    """How the line of each run looks: those beyond the colours are dashed."""
    return [
        {"color": _color(color), "linestyle": "-" if color < len(COLORS) else "--"}
        for color in _tables.policy_colors([run.policy for _, run in labelled])
    ]


def _pair(ax: Axes, at: float, row: dict[str, Any]) -> None:
    """A published number and the simulated one, side by side."""
    color, published, simulated = _color(row["color"]), row["published"], row["simulated"]
    ax.bar(at - 0.2, published, 0.38, facecolor=(color, 0.25), edgecolor=color, linewidth=0.8)
    if row["bound"]:
        # Which way the paper's own number may be, past the end of the bar.
        mark = "^" if row["bound"] == "above" else "v"
        ax.plot([at - 0.2], [published], marker=mark, color="black", markersize=3)
    if simulated is not None:
        ax.bar(at + 0.2, simulated, 0.4, color=color, linewidth=0)
        if row["low"] is not None:
            ax.vlines(at + 0.2, row["low"], row["high"], color="black", linewidth=0.7)


@_styled
def timeline(
    run: evenkeel.Run,
    *,
    start_s: float | None = None,
    end_s: float | None = None,
    color_by: str = "program",
    ax: Axes | None = None,
) -> Axes:
    """Which program or thread (``color_by``) ran on which core, the fastest cores on top, from ``start_s`` to ``end_s``."""
    if color_by not in ("program", "thread"):
        raise ValueError(f"color_by={color_by!r}: expected program or thread")
    first, last = start_s or 0.0, run.makespan_s if end_s is None else end_s
    if not first < last:
        raise ValueError(f"from {first} s to {last} s: expected an end after the start")
    spans = _tables.columns_of(
        run.spans, "spans", "core", "program", "name", "thread", "start_ns", "end_ns"
    )
    cores = _tables.columns_of(run.cores, "cores", "core", "core_type")
    if not spans["core"]:
        raise ValueError("the table of spans has no rows: expected a run in which a thread ran")
    types = list(run.core_types)
    lanes = sorted(
        zip(cores["core"], cores["core_type"]), key=lambda core: (types.index(core[1]), core[0])
    )
    lane = {core: len(lanes) - 1 - place for place, (core, _) in enumerate(lanes)}
    factor, unit = (1e3, "ms") if last - first < 1 else (1.0, "s")
    scale = factor / 1e9
    # Of the whole run, in the order of its threads, which is the workload's: what is seen first depends on the policy.
    firsts: dict[str, int] = {}
    boxes: dict[str, list[tuple[float, float, float]]] = {}
    rows = zip(
        spans["core"],
        spans["program"],
        spans["name"],
        spans["thread"],
        spans["start_ns"],
        spans["end_ns"],
    )
    for core, program, name, thread, start, end in rows:
        key = program if color_by == "program" else f"{program}/{name} {thread}"
        firsts[key] = min(thread, firsts.get(key, thread))
        if end <= first * 1e9 or start >= last * 1e9:
            continue
        boxes.setdefault(key, []).append((start * scale, end * scale, lane[core] - 0.4))
    ax = _axes(ax, height=0.7 + 0.22 * len(lanes))
    palette = (
        COLORS
        if len(firsts) <= len(COLORS)
        else [mpl.colormaps["turbo"](i / len(firsts)) for i in range(len(firsts))]
    )
    for key, color in zip(sorted(firsts, key=lambda key: (firsts[key], key)), palette):
        if key not in boxes:
            continue
        left, right, low = np.array(boxes[key]).T
        high = low + 0.8
        corners: Any = np.array([[left, low], [left, high], [right, high], [right, low]])
        # One object for a colour, made of an array: a million spans are drawn in seconds.
        shapes = PolyCollection(
            corners.transpose(2, 0, 1), facecolors=[color], linewidths=0, label=key
        )
        ax.add_collection(shapes, autolim=False)
    ax.set_xlim(first * factor, last * factor)
    ax.set_ylim(-0.6, len(lanes) - 0.4)
    ax.set_yticks([lane[core] for core, _ in lanes], [f"{core} {kind}" for core, kind in lanes])
    ax.set_xlabel(f"time, {unit}")
    title = f"{run.workload} on {run.machine} under {run.policy}"
    if 0 < len(boxes) <= 12:
        ax.legend(
            title=title, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), handlelength=1.0
        )
    else:
        ax.set_title(title)
    return ax


@_styled
def latency_cdf(runs: Runs, *, of: str = "wakeups", ax: Axes | None = None) -> Axes:
    """Which share of wake-ups had a thread on a core within a time. Runs are one, several, or by their labels.

    ``of="responses"`` draws how long it took from each wake-up that no thread caused, such as a timer's, until the thread waited
    again: how late periodic loads are.
    """
    if of not in ("wakeups", "responses"):
        raise ValueError(f"of={of!r}: expected wakeups or responses")
    labelled = _labelled(runs)
    ax = _axes(ax, height=2.0 + 0.15 * len(labelled))
    for (label, run), line in zip(labelled, _lines(labelled)):
        latencies = _latencies(run, of)
        if not latencies:
            woken = "woken" if of == "wakeups" else "woken by itself and waited again"
            raise ValueError(f"{label}: no thread was {woken}, so that there is no latency to draw")
        count = len(latencies)
        median, p99 = (latencies[math.ceil(share * count) - 1] for share in (0.5, 0.99))
        text = f"{label}: {_time(median)} median, {_time(p99)} p99"
        shares = [place / count for place in range(count + 1)]
        ax.step([latencies[0], *latencies], shares, where="post", label=text, **line)
    # Many take no time, which has no place on a logarithmic axis.
    ax.set_xscale("symlog", linthresh=1)
    ax.set_xlim(left=0)
    ax.set_ylim(0, 1.02)
    until, what = ("running", "wake-ups") if of == "wakeups" else ("waiting again", "responses")
    ax.set_xlabel(f"from wake-up to {until}, us")
    ax.set_ylabel(f"share of {what}")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def _latencies(run: evenkeel.Run, of: str) -> list[float]:
    """How long each wake-up or response of a run took, in us, the shortest first."""
    if of == "wakeups":
        found = _tables.columns_of(run.wakeups, "wake-ups", "latency_ns")["latency_ns"]
    else:
        rows = _tables.columns_of(run.responses, "responses", "response_ns", "times")
        found = [ns for ns, times in zip(rows["response_ns"], rows["times"]) for _ in range(times)]
    return sorted(ns / 1e3 for ns in found)


@_styled
def energy(runs: Runs, *, ax: Axes | None = None) -> Axes:
    """Energy of all cores against time, up to that of the run. Runs are one, several, or by their labels."""
    labelled = _labelled(runs)
    ax = _axes(ax, height=2.0 + 0.15 * len(labelled))
    for (label, run), line in zip(labelled, _lines(labelled)):
        power = _tables.columns_of(run.power, "power", "at_ns", "cluster", "power_w")
        if not power["at_ns"]:
            raise ValueError(f"{label}: the table of power has no rows: expected some")
        since: dict[str, float] = {}
        times, steps, last = [0.0], [0.0], 0.0
        rows = zip(power["at_ns"], power["cluster"], power["power_w"])
        ends = [*sorted(rows, key=lambda row: row[0]), (run.makespan_s * 1e9, None, 0.0)]
        for at, cluster, watts in ends:
            now = min(at / 1e9, run.makespan_s)
            times.append(now)
            steps.append(sum(since.values()) * (now - last))
            last = now
            if cluster is not None:
                since[cluster] = watts
        total = list(accumulate(steps))
        # While a core switches or ticks, the table has the power of its thread, and the energy of the run that of the kernel's code.
        factor = run.energy_j / total[-1] if total[-1] > 0 else 1.0
        text = f"{label}: {run.energy_j:.3g} J in {run.makespan_s:.3g} s"
        ax.plot(times, [energy * factor for energy in total], label=text, **line)
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("time, s")
    ax.set_ylabel("energy, J")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


@_styled
def pareto(
    runs: Any,
    x: str = "makespan_s",
    y: str = "energy_j",
    *,
    by: str | Sequence[str] = "policy",
    ax: Axes | None = None,
) -> Axes:
    """Two metrics against each other, a point for each policy, or for each combination of the columns ``by``.

    A point is the geometric mean over all other runs. Those that no other one beats in both metrics are filled and joined.
    """
    names = [by] if isinstance(by, str) else list(by)
    if not names:
        raise ValueError("by=[]: expected the name of a column, or several")
    columns, _ = _tables.comparable(runs, [x, y], names, names)
    values: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for row in range(len(columns["policy"])):
        key = tuple(str(columns[name][row]) for name in names)
        values.setdefault(key, []).append((columns[x][row], columns[y][row]))
    points = {
        key: (
            _tables.geometric_mean(a for a, _ in pairs),
            _tables.geometric_mean(b for _, b in pairs),
        )
        for key, pairs in values.items()
    }
    sign = [-1 if METRICS[metric][1] else 1 for metric in (x, y)]
    worth = {key: (sign[0] * a, sign[1] * b) for key, (a, b) in points.items()}
    front = [
        key
        for key, (a, b) in worth.items()
        if not any(c <= a and d <= b and (c, d) != (a, b) for c, d in worth.values())
    ]
    front.sort(key=lambda key: worth[key])
    ax = _axes(ax)
    ax.plot(
        [points[key][0] for key in front],
        [points[key][1] for key in front],
        color="0.6",
        linewidth=0.8,
        # What is between two points of the front is not reached: only what either of them beats.
        drawstyle="steps-post",
        zorder=1,
    )
    colors = list(range(len(points)))
    if names == ["policy"]:
        colors = _tables.policy_colors([policy for (policy,) in points])
    for number, (key, (a, b)) in zip(colors, points.items()):
        color = _color(number)
        ax.scatter(
            [a],
            [b],
            s=18,
            facecolors=color if key in front else "none",
            edgecolors=color,
            linewidths=0.9,
        )
    ax.margins(0.2)
    ax.set_xlabel(_better(x))
    ax.set_ylabel(_better(y))
    _name_points(ax, points, front, [-sign[0], -sign[1]])
    return ax


def _name_points(
    ax: Axes, points: dict[Any, tuple[float, float]], front: list[Any], better: list[int]
) -> None:
    """A label beside each point, on the side where it covers least of other labels and points."""
    # The layout decides where points are in pixels.
    ax.figure.canvas.figure.draw_without_rendering()
    inside = ax.get_window_extent().extents
    half = ax.figure.dpi / 72 * 2
    taken = [
        (at - half, up - half, at + half, up + half)
        for at, up in ax.transData.transform(list(points.values()))
    ]
    for key, point in points.items():
        # Nothing is beyond the front, on the side where both metrics are better.
        sides = [(x * better[0], y * better[1]) for x in (-1, 1) for y in (-1, 1)]
        note = ax.annotate(
            " ".join(key),
            point,
            (0, 0),
            textcoords="offset points",
            fontsize=6,
            annotation_clip=False,
        )
        tried = []
        for rank, (across, up) in enumerate(reversed(sides) if key in front else sides):
            _put(note, across, up)
            box = note.get_window_extent().extents
            area = (box[2] - box[0]) * (box[3] - box[1])
            covered = sum(_shared(box, other) for other in taken) + area - _shared(box, inside)
            tried.append((covered, rank, across, up, box))
        _, _, across, up, box = min(tried)
        _put(note, across, up)
        taken.append(box)


def _put(note: Any, across: int, up: int) -> None:
    note.set(
        position=(3 * across, 3 * up),
        ha="left" if across > 0 else "right",
        va="bottom" if up > 0 else "top",
    )


def _shared(one: Sequence[float], other: Sequence[float]) -> float:
    """The area that two boxes share; each is left, low, right, high."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    return max(0.0, width) * max(0.0, min(one[3], other[3]) - max(one[1], other[1]))


def _better(metric: str) -> str:
    label, higher = METRICS[metric]
    return f"{label} ({'higher' if higher else 'lower'} is better)"


def _axes(ax: Axes | None, height: float | None = None) -> Axes:
    if ax is not None:
        return ax
    width, usual = mpl.rcParams["figure.figsize"]
    return plt.subplots(figsize=(width, height or usual))[1]


def _labelled(runs: Runs) -> list[tuple[str, evenkeel.Run]]:
    if isinstance(runs, (Mapping, Sequence)) and not runs:
        raise ValueError("no run: expected one, several, or a dict of them by their labels")
    if isinstance(runs, Mapping):
        return list(runs.items())
    several = runs if isinstance(runs, Sequence) else [runs]
    return [(run.policy, run) for run in several]


def _time(us: float) -> str:
    return f"{us / 1e3:.3g} ms" if us >= 1e3 else f"{us:.3g} us"
