"""Runs, comparisons and reproductions: what the command does, by the same library."""

import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import pytest

import evenkeel


def test_a_run_adds_up():
    run = evenkeel.simulate("Sync-2", "2B2S", "colab", seed=3)
    assert (run.workload, run.machine, run.policy, run.seed) == ("Sync-2", "2B2S", "colab", 3)
    cores, spans = run.cores.to_pydict(), run.spans.to_pydict()
    assert sum(cores["energy_j"]) == pytest.approx(run.energy_j)
    for core, busy in zip(cores["core"], cores["busy_s"]):
        of_core = [i for i, found in enumerate(spans["core"]) if found == core]
        ran = sum(spans["end_ns"][i] - spans["start_ns"][i] for i in of_core)
        # Interrupts and switches have a core busy without a thread on it.
        assert ran / 1e9 <= busy + 1e-9
        ends = [spans["end_ns"][i] for i in of_core]
        starts = [spans["start_ns"][i] for i in of_core]
        assert all(end <= start for end, start in zip(ends, starts[1:])), "one thread at a time"
    assert max(spans["end_ns"]) / 1e9 == pytest.approx(run.makespan_s)
    assert max(t for t in run.programs["turnaround_s"]) <= run.makespan_s


def test_power_over_time_is_the_energy():
    run = evenkeel.simulate("radix", "2B2S", "cfs")
    power = run.power.to_pydict()
    energy, since = 0.0, {}
    for at, cluster, watts in zip(power["at_ns"], power["cluster"], power["power_w"]):
        before = since.get(cluster)
        if before:
            energy += before[1] * (at - before[0]) / 1e9
        since[cluster] = (at, watts)
    for at, watts in since.values():
        energy += watts * (run.makespan_s * 1e9 - at) / 1e9
    # What a core does while it switches is in the energy only.
    assert energy == pytest.approx(run.energy_j, rel=5e-3)


def test_waits_are_those_of_the_wakeups():
    run = evenkeel.simulate("Sync-2", "2B2S")
    waits, woken = run.waits.to_pydict(), run.wakeups.to_pydict()
    pairs = [(a, b) for a, b in zip(woken["thread"], woken["by"]) if b is not None]
    counted = dict(zip(zip(waits["thread"], waits["by"]), waits["times"]))
    assert counted and set(counted) <= set(pairs)
    assert all(counted[pair] <= pairs.count(pair) for pair in counted)
    assert min(waits["waited_s"]) >= 0 and set(waits["name"]) <= set(run.threads["name"])


def test_responses_are_from_each_wake_up_by_time_until_the_next_wait(undrawn_text):
    run = evenkeel.simulate(evenkeel.Workload.from_toml(undrawn_text, "undrawn"), "2B2S")
    woken, spans, found = (t.to_pydict() for t in (run.wakeups, run.spans, run.responses))
    waits = [
        (thread, end)
        for thread, end, stop in zip(spans["thread"], spans["end_ns"], spans["stop"])
        if stop == "blocked"
    ]
    expected = []
    for thread, at in zip(woken["thread"], woken["at_ns"]):
        later = [end for of, end in waits if of == thread and end > at]
        # After its last sleep a thread exits.
        expected += [(thread, min(later) - at)] if later else []
    responses = [
        (thread, ns)
        for thread, ns, times in zip(found["thread"], found["response_ns"], found["times"])
        for _ in range(times)
    ]
    assert set(woken["by"]) == {None} and len(expected) == 6 * 19
    assert sorted(responses) == sorted(expected)
    assert set(found["program"]) == {"one"} and set(found["name"]) == set(run.threads["name"])


def test_wakeups_are_those_that_the_run_counts():
    compared = evenkeel.compare("Sync-2", "2B2S", "cfs", seeds=1, orders=["declared"])
    runs = compared.runs.to_pydict()
    run = evenkeel.simulate("Sync-2", "2B2S", "cfs", seed=1)
    latencies = run.wakeups["latency_ns"]
    assert max(latencies) / 1e9 == pytest.approx(runs["wakeup_max_s"][0])
    assert sum(latencies) / len(latencies) / 1e9 == pytest.approx(runs["wakeup_mean_s"][0])
    assert runs["makespan_s"] == [run.makespan_s] and runs["h_antt"] == [run.h_antt]


def test_the_same_seed_gives_the_same_run_and_another_one_another():
    def spans(seed):
        return evenkeel.simulate("Sync-2", "2B2S", "cfs", seed=seed).spans.to_pydict()

    assert spans(1) == spans(1) != spans(2)


def test_a_seed_that_changes_nothing_is_said(undrawn_text):
    workload = evenkeel.Workload.from_toml(undrawn_text, "undrawn")
    with pytest.warns(UserWarning, match="changes nothing"):
        run = evenkeel.simulate(workload, "2B2S", "cfs", seed=2)
    assert not run.drawn
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evenkeel.simulate(workload, "2B2S", "cfs")


def test_conditions_are_those_of_the_command():
    quiet = evenkeel.simulate("radix", "2B2S", "cfs")
    noisy = evenkeel.simulate("radix", "2B2S", "cfs", noise=True)
    late = evenkeel.simulate("radix", "2B2S", "cfs", delay="1ms")
    assert len({quiet.makespan_s, noisy.makespan_s, late.makespan_s}) == 3
    board = evenkeel.Machine("odroid-xu3")
    fast = evenkeel.simulate("radix", board, "cfs")
    saving = evenkeel.simulate("radix", board, "cfs", governor="powersave")
    assert saving.makespan_s > fast.makespan_s
    lowest = {name: board.frequencies(at)[0] for at, name in enumerate(board.clusters)}
    changes = saving.frequencies
    assert dict(zip(changes["cluster"], changes["hz"])) == lowest and set(changes["at_ns"]) == {0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nois": True}, 'did you mean "noise"'),
        ({"delay": 5}, "500us"),
        ({"delay": "293y"}, "at most 292 years"),
        ({"governor": "fast"}, "schedutil"),
        ({"host": "run"}, "only the command `evenkeel` has this host"),
        ({"order": "biggest"}, "little-first"),
        ({"noise": object()}, "expected a number, a text"),
    ],
)
def test_conditions_that_make_no_sense(options, message):
    with pytest.raises(evenkeel.Error, match=message):
        evenkeel.simulate("radix", "2B2S", "cfs", **options)


CONSTANT = """
[[model]]
observed_on = "{}"
faster = "cortex-a57@2000MHz"
slower = "cortex-a53@1200MHz"
range = [1.0, 4.0]
intercept = 2.5
terms = []
"""


def test_speedups_are_predicted_with_a_file(tmp_path):
    seen = set()

    class Reads(evenkeel.Policy):
        reads = "speedups"

        def period(self):
            return 1_000_000

        def refresh(self, s, changes):
            seen.update(s.thread(thread).speedup for thread in s.living)

    file = tmp_path / "constant.toml"
    file.write_text("".join(map(CONSTANT.format, ("cortex-a57@2000MHz", "cortex-a53@1200MHz"))))
    evenkeel.simulate("radix", "2B2S", Reads, predictor=file)
    assert 2.5 in seen and seen <= {None, 2.5}
    evenkeel.compare("radix", "2B2S", ["cfs", Reads], seeds=1, predictor=str(file))
    assert seen <= {None, 2.5}
    evenkeel.simulate("radix", "2B2S", Reads)
    assert not seen <= {None, 2.5}
    with pytest.raises(evenkeel.Error, match="constant.toml has no model for .* rk3588"):
        evenkeel.simulate("radix", "rk3588", Reads, predictor=file)
    with pytest.raises(evenkeel.Error, match="oracle and predictor: expected one of them"):
        evenkeel.simulate("radix", "2B2S", Reads, predictor=file, oracle=True)
    file.write_text("[[model]]\nobserved_on = 3\n")
    with pytest.raises(evenkeel.Error, match="constant.toml:2: "):
        evenkeel.simulate("radix", "2B2S", Reads, predictor=file)
    with pytest.raises(evenkeel.Error, match="nowhere.toml"):
        evenkeel.compare("radix", "2B2S", "cfs", predictor=tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evenkeel.simulate("sync2", "2B2S"), "sync2"),
        (lambda: evenkeel.simulate("radix", "2B3S"), "2B3S"),
        (lambda: evenkeel.simulate("radix", "2B2S", "csf"), 'did you mean "cfs"'),
        (lambda: evenkeel.simulate("radix"), "no machine"),
        (lambda: evenkeel.simulate(5, "2B2S"), "expected a Workload"),
        (
            lambda: evenkeel.simulate("radix", "2B2S", "cfs", max_events=10),
            "still running after 10 events",
        ),
        (lambda: evenkeel.compare("radix", "2B2S", "cfs", seeds=0), "no seeds"),
        (lambda: evenkeel.compare([], "2B2S", "cfs"), "no workloads"),
        (lambda: evenkeel.compare(["radix", "radix"], "2B2S", "cfs"), "two workloads"),
        (lambda: evenkeel.compare("radix", "2B2S", "cfs", threads=0), "threads = 0"),
        (lambda: evenkeel.reproduce("colb"), 'did you mean "colab"'),
        (lambda: evenkeel.Machine("2B2S", {"costs.tick_ms": 1}), "tick_ms"),
        (lambda: evenkeel.Machine.from_toml("x = 1"), "machine.toml"),
        (lambda: evenkeel.Workload("radix", {"program.radix.x": 1}), "radix"),
    ],
)
def test_what_does_not_exist_is_said(call, message):
    with pytest.raises(evenkeel.Error, match=message):
        call()


def test_other_values_of_a_machine():
    slow = evenkeel.Machine("2B2S", {"costs.migrate_across_clusters_us": 5000})
    as_it_is = evenkeel.simulate("Sync-2", "2B2S", "gts").makespan_s
    assert evenkeel.simulate("Sync-2", slow, "gts").makespan_s > as_it_is
    assert evenkeel.simulate("Sync-2", evenkeel.Machine("2B2S"), "gts").makespan_s == as_it_is


def test_a_comparison_says_what_the_command_says():
    compared = evenkeel.compare(
        ["Sync-2", "radix"], ["2B2S", "2B4S"], ["cfs", "gts", "colab"], seeds=3
    )
    document = json.loads(compared.to_json())
    assert compared.headline == document["headline"] and compared.baseline == "cfs"
    assert len(compared.runs) == 2 * 2 * 3 * 2 * 3 == len(document["runs"])
    assert "\x1b" not in str(compared) and "H_ANTT" in str(compared)
    effects = compared.effects.to_pydict()
    over_all = [
        percent
        for workload, policy, metric, order, percent in zip(
            effects["workload"],
            effects["policy"],
            effects["metric"],
            effects["order"],
            effects["percent"],
        )
        if (workload, policy, metric, order) == (None, "gts", "h_antt", None)
    ]
    (found,) = [
        e["h_antt"]["effect"]
        for e in document["effects"]
        if e["workload"] is None and e["policy"] == "gts"
    ]
    assert over_all == [pytest.approx(100 * found)]


def test_effects_are_told_by_core_order():
    compared = evenkeel.compare("Sync-2", "2B2S", ["cfs", "gts"], seeds=3)
    rows = compared.effects.to_pydict()
    found = {
        order: percent
        for workload, metric, order, percent in zip(
            rows["workload"], rows["metric"], rows["order"], rows["percent"]
        )
        if workload and metric == "h_antt"
    }
    (of_gts, _) = json.loads(compared.to_json())["effects"]
    expected = {row["order"]: row["h_antt"]["effect"] for row in of_gts["orders"]}
    assert set(expected) == {"big-first", "little-first"}
    expected[None] = of_gts["h_antt"]["effect"]
    assert found == pytest.approx({order: 100 * effect for order, effect in expected.items()})
    for order in ("big-first", "little-first"):
        alone = evenkeel.compare("Sync-2", "2B2S", ["cfs", "gts"], seeds=3, orders=[order])
        assert alone.effects["percent"][0] == pytest.approx(found[order])
    # On one workload and one machine the mean over both is the same.
    over_all = [order for order, name in zip(rows["order"], rows["workload"]) if name is None]
    assert set(over_all) == set(found)


def test_differences_are_those_of_a_comparison():
    compared = evenkeel.compare("Sync-2", "2B2S", ["cfs", "gts"], seeds=4)
    runs = compared.runs.to_pydict()
    rows = list(zip(runs["policy"], runs["order"], runs["seed"], runs["makespan_s"]))
    value = {(policy, order, seed): makespan for policy, order, seed, makespan in rows}
    pairs = [
        [
            (value["cfs", order, seed], value["gts", order, seed])
            for order in ("big-first", "little-first")
        ]
        for seed in range(1, 5)
    ]
    own = evenkeel.difference(pairs)
    effects = compared.effects.to_pydict()
    at = next(
        i
        for i, metric in enumerate(effects["metric"])
        if metric == "makespan_s" and effects["workload"][i]
    )
    assert own.percent == pytest.approx(effects["percent"][at])
    assert (own.low, own.high) == pytest.approx((effects["low"][at], effects["high"][at]))
    assert own.clear == (own.high < 0 or own.low > 0) and own.seeds == 4


def test_a_difference_by_hand():
    exact = evenkeel.difference([[(1.0, 0.5)], [(2.0, 1.0)]])
    assert exact.percent == pytest.approx(-50) and exact.low == pytest.approx(-50) and exact.clear
    one = evenkeel.difference([[(1.0, 2.0), (1.0, 0.5)]])
    assert one.percent == pytest.approx(0) and one.low is None and not one.clear
    assert evenkeel.difference([]) is None and evenkeel.difference([[(0.0, 1.0)]]) is None
    assert math.isfinite(evenkeel.difference([[(1.0, 3.0)], [(0.0, 0.0)]]).percent)


def test_pages_are_written(tmp_path):
    compared = evenkeel.compare("radix", "2B2S", ["cfs", "gts"], seeds=2)
    compared.save_html(tmp_path / "page.html")
    assert "gts" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(OSError, match="nowhere"):
        compared.save_html(tmp_path / "nowhere" / "page.html")


def test_a_run_has_a_page(tmp_path):
    run = evenkeel.simulate("ferret:4", "2B2S", "colab")
    run.save_html(tmp_path / "run.html")
    assert "ferret:4 on 2B2S under colab" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_a_reproduction_has_its_rows():
    told = []
    reproduction = evenkeel.reproduce("aaws", progress=lambda *stage: told.append(stage))
    rows = reproduction.rows.to_pydict()
    document = json.loads(reproduction.to_json())
    assert len(rows["id"]) > 3 and set(rows["verdict"]) <= {"close", "sign", "miss"}
    assert len(document["rows"]) == len(rows["id"])
    for end in ("low", "high"):
        assert [row[end] for row in document["rows"]] == rows[end]
    assert any(low is not None and low < high for low, high in zip(rows["low"], rows["high"]))
    assert str(reproduction)


def test_all_evaluations_are_one_call():
    """Begun, not done: they take minutes."""

    class Begun(Exception):
        pass

    def progress(stage, done, of):
        raise Begun

    with pytest.raises(Begun):
        evenkeel.reproduce("all", progress=progress)


def test_progress_is_told_to_the_end():
    told = []
    evenkeel.compare(
        "Sync-2", "2B2S", ["cfs", "gts"], seeds=4, progress=lambda *stage: told.append(stage)
    )
    assert told[-1] == ("runs", 16, 16)
    with pytest.raises(ZeroDivisionError):
        evenkeel.compare("Sync-2", "2B2S", ["cfs", "gts"], seeds=4, progress=lambda *_: 1 / 0)


def python(text, **options):
    """Another interpreter that runs this."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_ctrl_c_ends_a_long_comparison():
    process = python(
        """
        import evenkeel
        print("begun", flush=True)
        try:
            evenkeel.compare("Sync-2", "4B4S", ["cfs", "gts", "colab"], seeds=1_000_000)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    assert process.stdout.readline() == "begun\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert out == "interrupted\n", error


SIMULATES = 'simulate("radix", "2B2S", Endless)'
COMPARES = 'evenkeel.compare("Sync-2", "4B4S", ["cfs", "gts", "colab"], seeds=1_000_000)'


@pytest.mark.parametrize(
    ("hook", "does", "call"),
    [
        ("pick(self, s, core)", "pass", SIMULATES),
        ("__init__(self)", "pass", SIMULATES),
        ("__init__(self)", COMPARES, SIMULATES),
        ("accepts(self, m)", "pass", SIMULATES),
        ("accepts(self, m)", "pass", "conformance(Endless)"),
    ],
)
def test_ctrl_c_ends_a_hook_that_never_returns(hook, does, call):
    """Each run makes a policy of its own, after one that is looked at on the main thread."""
    process = python(
        f"""
        import threading
        import evenkeel
        class Endless(evenkeel.Policy):
            def {hook}:
                while threading.current_thread() is not threading.main_thread():
                    print("begun", flush=True) if not Endless.begun else None
                    Endless.begun = True
                    {does}
            begun = False
        try:
            evenkeel.{call}
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    assert process.stdout.readline() == "begun\n"
    # Meanwhile a comparison within is under way.
    time.sleep(1 if does == COMPARES else 0)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert out == "interrupted\n", error


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_works_on():
    """The threads of a pool do not live on in a child: waiting for them would never end."""
    process = python(
        """
        import multiprocessing, warnings
        import evenkeel
        warnings.simplefilter("ignore")
        GRID = {"machines": ["2B2S", "2B4S"], "workloads": ["radix"], "policies": ["cfs"]}
        def one(seed):
            evenkeel.Grid.from_dict(GRID)
            return evenkeel.compare("radix", "2B2S", "cfs", seeds=2).runs["makespan_s"][0]
        if __name__ == "__main__":
            first = one(1)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                assert pool.map(one, range(4)) == [first] * 4
            print("done")
        """
    )
    out, error = process.communicate(timeout=60)
    assert out == "done\n", error


def test_variants_stand_beside_the_original():
    slow = {"costs.migrate_across_clusters_us": 5000}
    machines = ["2B2S", evenkeel.Machine("2B2S", slow, called="slow")]
    compared = evenkeel.compare("Sync-2", machines, ["gts"], baseline="gts", seeds=1)
    runs = compared.runs.to_pydict()
    by_name = dict(zip(runs["machine"], runs["makespan_s"]))
    assert by_name["slow"] > by_name["2B2S"]
    assert evenkeel.Workload("radix", called="other").name == "other"
    with pytest.raises(evenkeel.Error, match="called="):
        evenkeel.compare("radix", ["2B2S", evenkeel.Machine("2B2S", slow)], "cfs")


def test_paths_are_names(tmp_path, undrawn_text):
    (tmp_path / "own.toml").write_text(undrawn_text, encoding="utf-8")
    run = evenkeel.simulate(tmp_path / "own.toml", "2B2S")
    assert run.workload == "own" and evenkeel.Workload(tmp_path / "own.toml").name == "own"
    assert (
        evenkeel.compare(tmp_path / "own.toml", "2B2S", "cfs", seeds=1).runs["workload"]
        == ["own"] * 2
    )


def test_what_a_file_has_and_a_workload_cannot_is_said(tmp_path):
    (tmp_path / "a.json").write_text(
        '{"tasks": {"t": {"loop": 1, "run": 1000, "colour": 1}}}', encoding="utf-8"
    )
    with pytest.warns(UserWarning, match="colour"):
        evenkeel.simulate(tmp_path / "a.json", "2B2S")


def test_one_of_something_or_several():
    polars = pytest.importorskip("polars")
    one = evenkeel.compare(
        evenkeel.Workload("radix"), evenkeel.Machine("2B2S"), evenkeel.Policy, seeds=1
    )
    assert one.policies == ["cfs", "Policy"]
    named = polars.Series("names", ["cfs", "gts"])
    assert evenkeel.compare({"radix"}, ("2B2S",), named, seeds=1).policies == ["cfs", "gts"]


def test_lists_are_those_of_the_command():
    assert "2B2S" in [machine["name"] for machine in evenkeel.machines()]
    assert "colab" in [policy["name"] for policy in evenkeel.policies()]
    assert "colab" in evenkeel.experiments()
    machine = evenkeel.Machine("2B2S")
    assert (machine.cores, machine.big, machine.little) == (4, [0, 1], [2, 3])
