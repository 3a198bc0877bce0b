"""Plots: what is drawn is what was measured."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import evenkeel

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
from evenkeel import plots  # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


class Columns:
    """A table."""

    def __init__(self, **columns):
        self.columns = columns

    def to_pydict(self):
        return self.columns


def runs(**more):
    """Two policies on two workloads with two seeds: b takes half of what a does on one, twice on the other."""
    rows = [
        (workload, policy, seed, (1.0 + seed) * factor)
        for workload, of_b in (("w1", 0.5), ("w2", 2.0))
        for policy, factor in (("a", 1.0), ("b", of_b))
        for seed in (1, 2)
    ]
    columns = {
        name: [row[at] for row in rows]
        for at, name in enumerate(("workload", "policy", "seed", "makespan_s"))
    }
    columns["energy_j"] = [8.0 / time for time in columns["makespan_s"]]
    return Columns(machine=["m"] * 8, order=["declared"] * 8, **{**columns, **more})


def heights(ax):
    return [bar.get_height() for bar in ax.patches if bar.get_height()]


def test_bars_are_the_differences():
    ax = plots.bars(runs(), "makespan_s")
    assert heights(ax) == pytest.approx([-50, 100]), "the third, of all, is zero"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["w1", "w2", "all"]
    assert "makespan against a" in ax.get_ylabel() and "lower is better" in ax.get_ylabel()
    other = plots.bars(runs(), "makespan_s", baseline="b")
    assert heights(other) == pytest.approx([100, -50])


def test_bars_of_a_comparison_are_its_effects():
    compared = evenkeel.compare(["Sync-2", "radix"], "2B2S", ["cfs", "gts"], seeds=3)
    effects = compared.effects.to_pydict()
    rows = enumerate(zip(effects["metric"], effects["order"]))
    at = [i for i, row in rows if row == ("h_antt", None)]
    ax = plots.bars(compared)
    assert heights(ax) == pytest.approx([effects["percent"][i] for i in at])
    ends = [
        container.lines[2][0].get_segments()[0][:, 1]
        for container in ax.containers
        if container.__class__.__name__ == "ErrorbarContainer"
    ]
    assert [tuple(end) for end in ends] == [
        pytest.approx((effects["low"][i], effects["high"][i])) for i in at
    ]
    pale = [bar.get_alpha() < 1 for bar in ax.patches if bar.get_height()]
    assert pale == [effects["low"][i] < 0 < effects["high"][i] for i in at]


def test_values_that_were_varied_are_no_chance():
    varied = {"machine.costs.tick_us": [1, 2] * 4}
    assert heights(plots.bars(runs(**varied), "makespan_s")) == pytest.approx([-50, 100])


def test_where_a_run_failed_nothing_is_compared():
    failed = runs(error=["too long"] + [None] * 7)
    ax = plots.bars(failed, "makespan_s")
    assert heights(ax) == pytest.approx([100]), (
        "all of w1 is left out: its other seed alone is no sample"
    )
    a, b = plots.pareto(failed, y="makespan_s").collections
    assert b.get_offsets()[0][0] == pytest.approx(2 * a.get_offsets()[0][0])
    with pytest.raises(ValueError, match="in all of its runs"):
        plots.pareto(failed, by=["policy", "workload"])


def test_a_first_run_that_failed_does_not_change_the_baseline():
    # By seed, then by policy: the first run that came to its end is one of b.
    by_seed = sorted(range(8), key=lambda row: (runs().columns["seed"][row], row))
    columns = {name: [values[row] for row in by_seed] for name, values in runs().columns.items()}
    columns["error"] = [None] * 8
    columns["error"][0] = "too long"
    columns["policy"][1], columns["policy"][0] = "b", "a"
    assert "against a" in plots.bars(Columns(**columns), "makespan_s").get_ylabel()


def test_a_policy_keeps_its_colour():
    columns = runs().columns
    three = {name: values + values[4:] for name, values in columns.items()}
    three["policy"] = [*columns["policy"], *["c"] * 4]
    three["workload"] = [*columns["workload"], *["w2"] * 4]
    legend = plots.bars(Columns(**three), "makespan_s").get_legend()
    names = [text.get_text() for text in legend.get_texts()]
    of_bars = dict(zip(names, (patch.get_facecolor()[:3] for patch in legend.get_patches())))
    points = plots.pareto(Columns(**three))
    of_points = dict(zip("abc", (tuple(at.get_edgecolors()[0][:3]) for at in points.collections)))
    assert of_bars == {policy: of_points[policy] for policy in "bc"}


def test_a_policy_has_the_colour_that_it_has_on_pages():
    known = [policy["name"] for policy in evenkeel.policies()]
    cfs, colab = (plots.COLORS[known.index(name) % 8] for name in ("cfs", "colab"))
    compared = evenkeel.compare("radix", "2B2S", ["cfs", "gts", "colab"], seeds=1)
    drawn = plots.bars(compared).get_legend().get_patches()
    assert matplotlib.colors.to_hex(drawn[1].get_facecolor()) == colab
    points = plots.pareto(compared).collections
    ends = [matplotlib.colors.to_hex(points[at].get_edgecolors()[0]) for at in (0, 2)]
    assert ends == [cfs, colab]
    both = [simulated(policy="colab"), simulated(policy="cfs")]
    for draw in (plots.latency_cdf, plots.energy):
        assert [line.get_color() for line in draw(both).lines] == [colab, cfs]
    nine = draw([simulated(policy=f"colab:interval={n}ms") for n in range(9)]).lines
    looks = {(line.get_color(), line.get_linestyle()) for line in nine}
    assert len(looks) == 9 and nine[0].get_color() == colab


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.bars(runs(), "time"), "metric 'time': expected one of makespan_s"),
        (lambda: plots.bars(runs(), "h_antt"), "no column 'h_antt'"),
        (lambda: plots.bars(runs(), "makespan_s", by="colour"), "no column 'colour'"),
        (
            lambda: plots.bars(runs(), "makespan_s", baseline="c"),
            "baseline 'c': expected one of a, b",
        ),
        (
            lambda: plots.bars(runs(error=["x"] * 8), "makespan_s"),
            "no workload on a machine has makespan_s above zero in all of its runs",
        ),
        (lambda: plots.bars(runs(policy=["a"] * 8), "makespan_s"), "only a was run"),
        (lambda: plots.timeline(simulated(), color_by="core"), "expected program or thread"),
        (
            lambda: plots.timeline(simulated(), start_s=2, end_s=1),
            "expected an end after the start",
        ),
        (
            lambda: plots.latency_cdf(simulated(wakeups=Columns(latency_ns=[]))),
            "no thread was woken",
        ),
        (
            lambda: plots.bars(runs(policy=[]), "makespan_s"),
            "no workload on a machine has makespan_s above zero in all of its runs",
        ),
        (
            lambda: plots.bars(runs(makespan_s=[None] * 8), "makespan_s"),
            "no workload on a machine has makespan_s above zero in all of its runs",
        ),
        (lambda: plots.bars(runs(seed=list(range(8))), "makespan_s"), "to compare with a"),
        (
            lambda: plots.bars(runs(programs=[[]] * 8), "makespan_s", by="programs"),
            "by='programs': expected a column of names or numbers, found lists",
        ),
        (lambda: plots.pareto(runs(), by=[]), "expected the name of a column, or several"),
        (lambda: plots.pareto(runs(), y="h_stp"), "no column 'h_stp'"),
        (
            lambda: plots.timeline(simulated(spans=Columns(core=[0]))),
            "no column 'program': expected a table of spans, found core",
        ),
        (lambda: plots.timeline(simulated(spans=no_spans())), "no rows"),
        (
            lambda: plots.timeline(simulated(cores=Columns(core=[0]))),
            "no column 'core_type': expected a table of cores",
        ),
        (
            lambda: plots.latency_cdf(simulated(wakeups=Columns(at_ns=[0]))),
            "no column 'latency_ns': expected a table of wake-ups, found at_ns",
        ),
        (lambda: plots.latency_cdf(simulated(), of="waits"), "expected wakeups or responses"),
        (
            lambda: plots.latency_cdf(
                simulated(responses=Columns(response_ns=[], times=[])), of="responses"
            ),
            "no thread was woken by itself and waited again",
        ),
        (lambda: plots.latency_cdf([]), "no run: expected one"),
        (lambda: plots.energy({}), "no run: expected one"),
        (lambda: plots.energy(simulated(power=Columns(at_ns=[0]))), "no column 'cluster'"),
        (
            lambda: plots.energy(simulated(power=Columns(at_ns=[], cluster=[], power_w=[]))),
            "a: the table of power has no rows",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def no_spans():
    names = ("core", "program", "name", "thread", "start_ns", "end_ns")
    return Columns(**{name: [] for name in names})


def simulated(**changes):
    spans = Columns(
        core=[0, 1, 0],
        core_type=["little", "big", "little"],
        cluster=["l", "b", "l"],
        thread=[0, 1, 2],
        program=["p", "q", "p"],
        name=["one", "one", "two"],
        start_ns=[0, 0, 600_000_000],
        end_ns=[500_000_000, 2_000_000_000, 2_000_000_000],
    )
    run = {
        "policy": "a",
        "workload": "w",
        "machine": "m",
        "makespan_s": 2.0,
        "energy_j": 8.0,
        "core_types": ["big", "little"],
        "cores": Columns(core=[0, 1], core_type=["little", "big"]),
        "spans": spans,
        "wakeups": Columns(latency_ns=[4000, 0, 1000, 2000]),
        "power": Columns(at_ns=[0, 0, 10**9], cluster=["b", "l", "b"], power_w=[2.0, 1.0, 4.0]),
    }
    return SimpleNamespace(**{**run, **changes})


def test_a_timeline_has_big_cores_on_top_and_an_object_for_a_colour():
    ax = plots.timeline(simulated())
    lanes = {tick.get_text(): y for tick, y in zip(ax.get_yticklabels(), ax.get_yticks())}
    assert lanes == {"1 big": 1, "0 little": 0}
    assert {shapes.get_label(): len(shapes.get_paths()) for shapes in ax.collections} == {
        "p": 2,
        "q": 1,
    }
    assert len(plots.timeline(simulated(), color_by="thread").collections) == 3
    # Colours are those of the order of threads, whatever ran first and whatever part is seen.
    columns = simulated().spans.columns
    turned = Columns(**{name: values[::-1] for name, values in columns.items()})
    for run, start in ((simulated(), 0), (simulated(spans=turned), 0), (simulated(), 0.5)):
        found = plots.timeline(run, start_s=start, end_s=0.6 if start else 2).collections
        found = {at.get_label(): matplotlib.colors.to_hex(at.get_facecolors()[0]) for at in found}
        assert found["q"] == plots.COLORS[1] and found.get("p", plots.COLORS[0]) == plots.COLORS[0]
    late = plots.timeline(simulated(), start_s=0.55)
    assert [len(shapes.get_paths()) for shapes in late.collections] == [
        1,
        1,
    ] and late.get_xlim() == (0.55, 2)
    (of_p,) = (shapes for shapes in late.collections if shapes.get_label() == "p")
    corners = of_p.get_paths()[0].vertices
    assert corners.min(axis=0) == pytest.approx([0.6, -0.4])
    assert corners.max(axis=0) == pytest.approx([2.0, 0.4])
    idle = plots.timeline(simulated(), start_s=0.5, end_s=0.6)
    assert {shapes.get_label() for shapes in idle.collections} == {"q"}
    many = 1_000_000
    spans = Columns(
        core=[0] * many,
        program=["p", "q"] * (many // 2),
        name=["n"] * many,
        thread=[0] * many,
        start_ns=list(range(many)),
        end_ns=list(range(1, many + 1)),
    )
    assert len(plots.timeline(simulated(spans=spans)).collections) == 2


def test_latencies_add_up_to_one():
    ax = plots.latency_cdf(simulated())
    (line,) = ax.lines
    assert list(line.get_xdata()) == [0, 0, 1, 2, 4] and list(line.get_ydata()) == [
        0,
        0.25,
        0.5,
        0.75,
        1,
    ]
    assert line.get_label() == "a: 1 us median, 4 us p99"
    assert len(plots.latency_cdf({"x": simulated(), "y": simulated()}).lines) == 2
    assert len(plots.latency_cdf([simulated(), simulated()]).lines) == 2


def test_responses_count_as_often_as_they_were():
    responses = Columns(response_ns=[3000, 1000], times=[1, 3])
    ax = plots.latency_cdf(simulated(responses=responses), of="responses")
    (line,) = ax.lines
    assert list(line.get_xdata()) == [1, 1, 1, 1, 3]
    assert line.get_label() == "a: 1 us median, 3 us p99"
    assert ax.get_xlabel() == "from wake-up to waiting again, us"
    assert ax.get_ylabel() == "share of responses"


def test_energy_is_power_times_time():
    (line,) = plots.energy(simulated()).lines
    assert list(line.get_xdata()) == [0, 0, 0, 1, 2] and list(line.get_ydata()) == [0, 0, 0, 3, 8]
    power = Columns(at_ns=[10**9, 0, 3 * 10**9], cluster=["b"] * 3, power_w=[4.0, 2.0, 9.0])
    (line,) = plots.energy(simulated(power=power, energy_j=6.0)).lines
    assert list(line.get_xdata())[-1] == 2 and list(line.get_ydata())[-1] == 6, (
        "in the order of time, until the end of the run"
    )
    run = evenkeel.simulate("radix", "2B2S")
    (line,) = plots.energy(run).lines
    assert line.get_ydata()[-1] == pytest.approx(run.energy_j, rel=1e-9)
    assert f" {run.energy_j:.3g} J" in line.get_label()
    (line,) = plots.energy(simulated(energy_j=8.4)).lines
    assert list(line.get_ydata()) == pytest.approx([0, 0, 0, 3.15, 8.4]), "all of it is in the line"


def test_the_front_has_what_nothing_beats():
    table = Columns(
        policy=["a", "b", "c", "d"],
        seed=[1] * 4,
        makespan_s=[1.0, 2.0, 3.0, 2.5],
        energy_j=[3.0, 2.0, 1.0, 2.5],
        h_stp=[1.0, 2.0, 3.0, 2.5],
    )
    ax = plots.pareto(table)
    assert list(ax.lines[0].get_xdata()) == pytest.approx([1, 2, 3])
    assert list(ax.lines[0].get_ydata()) == pytest.approx([3, 2, 1])
    hollow = [points.get_facecolors().shape[0] == 0 for points in ax.collections]
    assert hollow == [False, False, False, True]
    assert ax.lines[0].get_drawstyle() == "steps-post"
    higher = plots.pareto(table, x="h_stp", y="energy_j")
    assert list(higher.lines[0].get_xdata()) == pytest.approx([3]), (
        "c has most of one and least of the other"
    )
    assert "higher is better" in higher.get_xlabel()


@pytest.mark.parametrize(("x", "y"), [("makespan_s", "energy_j"), ("makespan_s", "h_stp")])
def test_the_labels_of_near_points_do_not_overlap(x, y):
    near = Columns(
        policy=["first", "second", "third", "far"],
        seed=[1] * 4,
        makespan_s=[1.0, 1.005, 1.01, 1.4],
        energy_j=[1.02, 1.01, 1.0, 1.4],
        h_stp=[1.0, 1.01, 1.02, 0.6],
    )
    ax = plots.pareto(near, x=x, y=y)
    ax.figure.draw_without_rendering()
    boxes = {text.get_text(): text.get_window_extent() for text in ax.texts}
    assert sorted(boxes) == ["far", "first", "second", "third"]
    names = list(boxes)
    for place, name in enumerate(names):
        assert not any(boxes[name].overlaps(boxes[other]) for other in names[:place])


def test_points_are_of_the_same_runs():
    columns = runs().columns
    # Without the slow workload of b, of which only the fast one would count.
    kept = [
        row for row in range(8) if (columns["workload"][row], columns["policy"][row]) != ("w2", "b")
    ]
    part = Columns(**{name: [values[row] for row in kept] for name, values in columns.items()})
    a, b = plots.pareto(part).collections
    assert b.get_offsets()[0][0] == pytest.approx(a.get_offsets()[0][0] / 2)
    assert len(plots.pareto(part, by=["workload", "policy"]).collections) == 3


def test_what_only_some_machines_have_keeps_none_apart():
    table = Columns(
        policy=["a"] * 6,
        seed=[1, 2] * 3,
        machine=["m"] * 4 + ["n"] * 2,
        makespan_s=[1.0, 1.0, 4.0, 4.0, 3.0, 3.0],
        energy_j=[2.0] * 6,
        **{"machine.core.x.width": [1, 1, 2, 2, None, None]},
    )
    m, n = plots.pareto(table, by="machine").collections
    assert (m.get_offsets()[0][0], n.get_offsets()[0][0]) == pytest.approx((2, 3))


def test_tables_of_other_packages_are_taken():
    polars = pytest.importorskip("polars")
    error = polars.Series([None] * 8, dtype=polars.String)
    swept = polars.DataFrame({**runs().columns, "error": error})
    assert heights(plots.bars(swept, "makespan_s")) == pytest.approx([-50, 100])
    frame = polars.DataFrame(runs().columns)
    assert heights(plots.bars(frame, "makespan_s")) == pytest.approx([-50, 100])


def test_axes_of_the_caller_keep_their_style():
    figure, ax = matplotlib.pyplot.subplots(figsize=(9, 4))
    assert plots.bars(runs(), "makespan_s", ax=ax) is ax and tuple(figure.get_size_inches()) == (
        9,
        4,
    )
    own = plots.bars(runs(), "makespan_s").figure
    assert own.get_size_inches()[0] == pytest.approx(3.35)
    before = dict(matplotlib.rcParams)
    with plots.style():
        assert matplotlib.rcParams["font.size"] == 8
    assert dict(matplotlib.rcParams) == before


def test_a_figure_has_published_numbers_beside_simulated_ones():
    reproduction = evenkeel.reproduce("aaws")
    columns = reproduction.figures.to_pydict()
    rows = reproduction.rows.to_pydict()
    assert set(columns["id"]) <= set(rows["id"])
    for name, panel in dict.fromkeys(zip(columns["figure"], columns["panel"])):
        own = [
            at
            for at, place in enumerate(zip(columns["figure"], columns["panel"]))
            if place == (name, panel)
        ]
        ax = plots.figure(reproduction, name, panel)
        expected = [
            value
            for at in own
            for value in (columns["published"][at], columns["simulated"][at])
            if value is not None
        ]
        assert [bar.get_height() for bar in ax.patches] == pytest.approx(expected), name
        intervals = [
            (columns["low"][at], columns["high"][at])
            for at in own
            if columns["low"][at] is not None
        ]
        lines = [tuple(line.get_segments()[0][:, 1]) for line in ax.collections]
        assert lines == [pytest.approx(interval) for interval in intervals], name
        pale = [bar.get_facecolor()[3] < 1 for bar in ax.patches]
        assert pale.count(True) == len(own)
        assert columns["axis"][own[0]] in ax.get_ylabel()
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels[-2:] == ["published", "simulated"]
        assert labels[:-2] == list(dict.fromkeys(columns["series"][at] for at in own))
    assert any(low is not None for low in columns["low"])
    first = plots.figure(reproduction)
    assert columns["axis"][0] in first.get_ylabel()
    with pytest.raises(ValueError, match="Figure 8"):
        plots.figure(reproduction, "Figure 80")
    with pytest.raises(ValueError, match="expected one of 1"):
        plots.figure(reproduction, columns["figure"][0], 9)


def test_limits_of_a_figure_are_marked_on_their_side():
    def drawn(bound):
        table = Columns(
            figure=["Figure 1"], panel=[1], axis=["time, %"], base=[0.0], better=["lower"],
            group=["all"], series=["a"], color=[9], published=[-10.0], simulated=[None],
            low=[None], high=[None], bound=[bound],
        )  # fmt: skip
        return plots.figure(SimpleNamespace(figures=table))

    assert heights(drawn(None)) == [-10.0] and len(drawn(None).lines) == 1
    markers = [drawn(bound).lines[0].get_marker() for bound in ("above", "below")]
    assert markers == ["^", "v"]


def test_colours_are_those_of_the_pages():
    sheet = Path(__file__).parents[2] / "report/src/page/style.css"
    if not sheet.exists():
        pytest.skip("the pages' style is in the repository only")
    # By day, which comes first.
    line = next(line for line in sheet.read_text(encoding="utf-8").splitlines() if "--c0:" in line)
    assert plots.COLORS == re.findall(r"--c\d: (#\w{6});", line)
