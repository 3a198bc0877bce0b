"""Policies written in Python: the same hooks, the same results."""

import functools
import gc
import itertools
import random
import re
import warnings

import pytest

import evenkeel
from evenkeel import Pick, Policy


class Plain(Policy):
    """Overrides every hook that decides, and decides as CFS."""

    guarantees = ()

    def accepts(self, machine):
        return super().accepts(machine)

    def period(self):
        return super().period()

    def admit(self, s, thread):
        return super().admit(s, thread)

    def place(self, s, thread, why):
        return super().place(s, thread, why)

    def pick(self, s, core):
        return super().pick(s, core)

    def slice(self, s, thread, core):
        return super().slice(s, thread, core)

    def charge(self, s, thread, core, ran):
        return super().charge(s, thread, core, ran)

    def owes(self, s, running, core):
        return super().owes(s, running, core)

    def enter(self, s, thread, core, why):
        return super().enter(s, thread, core, why)

    def expired(self, s, running, core):
        return super().expired(s, running, core)

    def preempts(self, s, woken, running, core):
        return super().preempts(s, woken, running, core)

    def balance(self, s, core):
        return super().balance(s, core)

    def busy_factor(self):
        return super().busy_factor()

    def standing(self, s, thread):
        return super().standing(s, thread)


class Fcf(Policy):
    """Faster core first, as evenkeel's own has it but for its balancing: written twice, it must do what it guarantees."""

    guarantees = ("takes-over",)

    def place(self, s, thread, why):
        allowed = s.thread(thread).allowed
        idle = [core for core in allowed if s.idle(core)]
        return min(idle, key=s.core_type) if idle else super().place(s, thread, why)

    def pick(self, s, core):
        found = super().pick(s, core)
        if found is None:
            slower = [other for other in s.cores if s.core_type(other) > s.core_type(core)]
            running = (s.movable_current(other, core) for other in slower)
            return next((Pick.running(thread) for thread in running if thread is not None), None)
        return found


@pytest.mark.parametrize("policy", [Policy, Plain])
def test_cfs_in_python_is_cfs(policy):
    for workload, machine in [("Sync-2", "2B2S"), ("ferret", "4B4S")]:
        ours = evenkeel.simulate(workload, machine, "cfs", noise=True)
        theirs = evenkeel.simulate(workload, machine, policy, noise=True)
        assert theirs.spans.to_pydict() == ours.spans.to_pydict()
        assert theirs.energy_j == ours.energy_j


@pytest.mark.parametrize("policy", [Plain, Fcf, "colab"])
def test_policies_do_what_every_policy_must(policy):
    found = evenkeel.conformance(policy)
    found.check()
    assert found.passed >= 3 * 5, "each of three hosts plays some scenarios"


def test_a_guarantee_that_does_not_hold_is_found():
    class Claims(Policy):
        guarantees = ("takes-over",)

    found = evenkeel.conformance(Claims)
    assert any("an idle big core takes over" in line for line in found.failed)
    with pytest.raises(AssertionError, match="little cores for"):
        found.check()


def test_a_policy_that_lets_threads_starve_is_found():
    class Never(Policy):
        def pick(self, s, core):
            return None

    assert evenkeel.conformance(Never).passed == 0
    with pytest.raises(evenkeel.Error, match="never picks radix/sorter-0"):
        evenkeel.simulate("radix", "2B2S", Never)


def test_books_of_its_own_are_kept():
    class Books(Policy):
        def __init__(self):
            self.ran_ns, self.arrived, self.left = {}, 0, 0

        def ran(self, s, thread, core, span):
            assert span.time >= 0 and span.waited == 0
            self.ran_ns[thread] = self.ran_ns.get(thread, 0) + span.time

        def arrive(self, s, thread, core):
            self.arrived += 1

        def leave(self, s, thread):
            self.left += 1

    kept = []

    def make():
        kept.append(Books())
        return kept[-1]

    run = evenkeel.simulate("radix", "2B2S", make)
    books = kept[-1]
    ran = run.threads["ran_s"]
    assert {
        thread: pytest.approx(ns / 1e9, abs=1e-6) for thread, ns in books.ran_ns.items()
    } == dict(enumerate(ran))
    assert books.arrived > 0 and books.left > 0


def test_refresh_changes_where_threads_run_and_how_fast():
    class OnlyLittle(Policy):
        def period(self):
            return 10_000_000

        def refresh(self, s, changes):
            for thread in s.living:
                changes.affinity(thread, s.little)
            changes.frequency(s.cluster(s.big[0]), s.machine.frequencies(0)[0])

    run = evenkeel.simulate("Sync-2", "2B2S", OnlyLittle)
    spans = run.spans.to_pydict()
    late = [core for core, start in zip(spans["core"], spans["start_ns"]) if start > 200_000_000]
    assert late and set(late) <= {2, 3}
    assert run.frequencies["hz"]


def test_a_period_may_change_at_each_refresh():
    class Rarer(Policy):
        def __init__(self):
            self.ns, self.at = 1_000_000, []
            made.append(self)

        def period(self):
            return self.ns

        def refresh(self, s, changes):
            self.at.append(s.now)
            self.ns *= 2

    class TooOften(Rarer):
        def period(self):
            return 5 if self.at else self.ns

    made = []
    evenkeel.simulate("Sync-2", "2B2S", Rarer)
    at = made[-1].at
    spans = [later - earlier for earlier, later in zip(at, at[1:])]
    assert spans[:3] == [2_000_000, 4_000_000, 8_000_000]
    with pytest.raises(evenkeel.Error, match="TooOften.period.*at least 10 us"):
        evenkeel.simulate("Sync-2", "2B2S", TooOften)


def test_predicted_speedups_are_seen():
    seen = set()

    class Looks(Policy):
        reads = "speedups"

        def period(self):
            return 10_000_000

        def refresh(self, s, changes):
            seen.update(s.thread(thread).speedup for thread in s.living)

    evenkeel.simulate("Sync-2", "2B2S", Looks)
    assert len(seen - {None}) > 2


def test_what_a_hook_sees():
    class Looks(Policy):
        looked = 0

        def place(self, s, thread, why):
            t = s.thread(thread)
            assert t.number == thread and t.run in ("ready", "running", "blocked", "absent")
            assert why.kind in ("new", "woken", "preempted", "yielded", "taken")
            assert sorted(s.big + s.little) == s.cores and s.machine.cores == len(s.cores)
            assert set(s.idle_cores) == {core for core in s.cores if s.idle(core)}
            for core in s.cores:
                queue = s.core(core)
                running = queue.current is not None
                assert s.occupancy(core) == len(queue.waiting) + running
                assert queue.first == (queue.waiting[0] if queue.waiting else None)
                assert s.capacity(core) == s.capacity_now(core) <= 1024 and s.usage(core) <= 1024
                assert s.domains(core)[-1] == s.cores
            for other in s.living:
                window = s.thread(other).window
                assert len(window) == 2 and set(window[0]) == {"time", "instructions", "counters"}
            with pytest.raises(IndexError, match="no core 9"):
                s.core(9)
            with pytest.raises(IndexError, match="no thread 999"):
                s.thread(999)
            type(self).looked += 1
            return super().place(s, thread, why)

    evenkeel.simulate("Sync-2", "2B2S", Looks)
    assert Looks.looked > 10


def test_a_state_is_gone_when_its_hook_returns():
    kept = []

    class Keeps(Policy):
        def pick(self, s, core):
            kept[:] = [s, s.thread(0)]
            return super().pick(s, core)

    evenkeel.simulate("radix", "2B2S", Keeps)
    with pytest.raises(RuntimeError, match="another thread|has returned"):
        _ = kept[0].now
    with pytest.raises(RuntimeError, match="another thread|has returned"):
        _ = kept[1].core
    kept.clear()
    gc.collect()


def test_an_exception_comes_out_as_it_is():
    class Broken(Policy):
        def pick(self, s, core):
            return {}["the key"]

    for call in (
        lambda: evenkeel.simulate("radix", "2B2S", Broken),
        lambda: evenkeel.compare("radix", "2B2S", ["cfs", Broken]),
    ):
        with pytest.raises(KeyError, match="the key") as raised:
            call()
        assert raised.traceback[-1].name == "pick"
    failed = evenkeel.conformance(Broken).failed
    assert any(__file__ in line and "in pick: KeyError: 'the key'" in line for line in failed)


def returning(hook, value):
    return type("Wrong", (Policy,), {hook: lambda self, *arguments: value})


@pytest.mark.parametrize(
    ("hook", "value", "message"),
    [
        ("place", 77, "where thread 0 may run"),
        ("place", "big", "the number of a core"),
        ("place", None, "the number of a core"),
        ("pick", 3, "a Pick or None"),
        ("pick", Pick.queued(999), "a thread that waits"),
        ("pick", Pick.running(0), "runs on another core"),
        ("pick", Pick.exchange(0), "in balance only"),
        ("balance", Pick.exchange(999), "may run on each other's"),
        ("slice", 0, "at least 10000"),
        ("slice", -1, "a time in ns"),
        ("charge", "much", "a time in ns"),
        ("owes", 2**61, "at most 2\\*\\*60"),
        ("enter", 2**63, "a virtual time"),
        ("enter", 2**61, "a virtual time"),
        ("admit", [], "at least one"),
        ("admit", [9], "cores of the machine"),
        ("admit", [5000], "cores of the machine"),
        ("place", 5000, "where thread 0 may run"),
        ("charge", 2**61, "at most 2\\*\\*60"),
        ("busy_factor", 2**62, "at most 1000000"),
        ("preempts", 1, "True or False"),
        ("period", 5, "at least 10 us"),
        ("accepts", "no such cores", "cannot schedule 2B2S: no such cores"),
        ("predictor", "good", "second-best"),
        ("culprit", "none", "holders or waker"),
    ],
)
def test_what_cannot_be_carried_out_is_said(hook, value, message):
    with pytest.raises(evenkeel.Error, match=message):
        evenkeel.simulate("Sync-2", "2B2S", returning(hook, value))


def test_what_a_policy_owes_is_checked_where_it_calls_the_hooks_of_cfs():
    class Owes(Policy):
        def owes(self, s, running, core):
            return 2**63 - 1

        def enter(self, s, thread, core, why):
            return super().enter(s, thread, core, why)

        def preempts(self, s, woken, running, core):
            return super().preempts(s, woken, running, core)

    class Enters(Owes):
        def enter(self, s, thread, core, why):
            return s.thread(thread).vruntime

    for policy in (Owes, Enters):
        with pytest.raises(evenkeel.Error, match=r"owes returned 9223372036854775807: .*2\*\*60"):
            evenkeel.simulate("Sync-2", "2B2S", policy)


def test_what_a_policy_thinks_of_threads_is_on_pages(tmp_path):
    def judged(word):
        hooks = {"period": lambda self: 1_000_000, "standing": lambda self, s, thread: word}
        run = evenkeel.simulate("radix", "2B2S", type("Says", (Policy,), hooks))
        run.save_html(tmp_path / "run.html")
        html = (tmp_path / "run.html").read_text(encoding="utf-8")
        return set(re.findall(r'"judged":(\{[^}]*\})', html))

    pages = [judged(word) for word in ("any", "big", "little", "critical")]
    assert ['"count":0,' in str(page) for page in pages] == [True, False, False, False]
    assert all(one.isdisjoint(other) for one, other in itertools.combinations(pages, 2))
    with pytest.raises(evenkeel.Error, match="standing returned 'huge': expected big, little"):
        judged("huge")


def test_a_policy_with_foresight_knows_the_future():
    def seen(foresight):
        futures = []

        def pick(self, s, core):
            threads = (s.thread(thread) for thread in s.living)
            futures.extend(t.future for t in threads if t.run in ("ready", "running"))
            return Policy.pick(self, s, core)

        attributes = {"foresight": foresight, "pick": pick}
        evenkeel.simulate("radix", "2B2S", type("Sees", (Policy,), attributes))
        return [future for future in futures if future is not None]

    known = [future for future in seen(True) if future["level"] is not None]
    assert known[0]["level"] > known[-1]["level"], "the end comes nearer"
    for future in known:
        assert future["level"] >= future["stretch"] >= 0 and future["speedup"] >= 0
    assert not seen(False)


def test_changes_that_cannot_be_made_are_said():
    def refreshing(change):
        def refresh(self, s, changes):
            change(changes)

        return type("Wrong", (Policy,), {"refresh": refresh, "period": lambda self: 1_000_000})

    for change, message in [
        (lambda changes: changes.affinity(999, [0]), "a thread that is alive"),
        (lambda changes: changes.affinity(0, []), "at least one of the 4 cores"),
        (lambda changes: changes.affinity(0, [9]), "at least one of the 4 cores"),
        (lambda changes: changes.affinity(0, [5000]), "at least one of the 4 cores"),
        (lambda changes: changes.frequency(0, 1), "one of its frequencies"),
        (lambda changes: changes.frequency(9, 1), "expected a cluster"),
    ]:
        with pytest.raises(evenkeel.Error, match=message):
            evenkeel.simulate("Sync-2", "2B2S", refreshing(change))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"name": "cfs"}, "expected another"),
        ({"name": "a:b"}, "expected a name without"),
        ({"reads": "all"}, "nothing, speedups or stalls"),
        ({"guarantees": ("speed",)}, "takes-over or balances"),
    ],
)
def test_what_a_policy_says_of_itself_makes_sense(attributes, message):
    with pytest.raises(evenkeel.Error, match=message):
        evenkeel.simulate("radix", "2B2S", type("Wrong", (Policy,), attributes))


def test_a_hook_that_is_misspelt_is_said():
    def plcae(self, s, thread, why):
        return 0

    with pytest.warns(UserWarning, match='Wrong.plcae is no hook.*did you mean "place"'):
        evenkeel.simulate("radix", "2B2S", type("Wrong", (Policy,), {"plcae": plcae}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = {"pick_big": plcae, "_place": plcae, "placing": 5}
        evenkeel.simulate("radix", "2B2S", type("Right", (Policy,), own))


def test_what_is_no_policy_is_said():
    for wrong in (5, lambda: 5, object()):
        with pytest.raises(evenkeel.Error, match="a class that extends evenkeel.Policy"):
            evenkeel.simulate("radix", "2B2S", wrong)


def test_an_object_is_no_policy_of_several_runs():
    for call in (
        lambda: evenkeel.simulate("radix", "2B2S", Policy()),
        lambda: evenkeel.compare("radix", "2B2S", ["cfs", Plain()]),
        lambda: evenkeel.conformance(Plain()),
    ):
        with pytest.raises(evenkeel.Error, match="each run needs its own"):
            call()


def test_knobs_are_arguments():
    class Sliced(Policy):
        def __init__(self, ms):
            self.ns, self.name = ms * 1_000_000, f"sliced-{ms}"

        def slice(self, s, thread, core):
            return self.ns

    compared = evenkeel.compare(
        "Sync-2", "2B2S", [functools.partial(Sliced, 1), functools.partial(Sliced, 20)], seeds=2
    )
    assert compared.policies == ["cfs", "sliced-1", "sliced-20"]
    runs = compared.runs.to_pydict()
    switches = {
        policy: sum(n for p, n in zip(runs["policy"], runs["context_switches"]) if p == policy)
        for policy in compared.policies
    }
    assert switches["sliced-1"] > switches["sliced-20"]
    with pytest.raises(evenkeel.Error, match="two policies"):
        evenkeel.compare("Sync-2", "2B2S", [functools.partial(Sliced, 1)] * 2)


def test_a_baseline_is_not_taken_for_another_policy_of_its_name():
    class Sliced(Policy):
        def __init__(self, ms):
            self.ns = ms * 1_000_000

        def slice(self, s, thread, core):
            return self.ns

    one, other = (functools.partial(Sliced, ms) for ms in (1, 20))
    with pytest.raises(evenkeel.Error, match="two policies"):
        evenkeel.compare("Sync-2", "2B2S", ["cfs", other], baseline=one)
    compared = evenkeel.compare("Sync-2", "2B2S", ["cfs", one], baseline=one, seeds=1)
    assert (compared.baseline, compared.policies) == ("Sliced", ["cfs", "Sliced"])


def test_virtual_times_at_their_limits_are_compared():
    class Extreme(Policy):
        def enter(self, s, thread, core, why):
            return 2**60 if thread % 2 else -(2**60)

        def charge(self, s, thread, core, ran):
            return min(super().charge(s, thread, core, ran), 2**60 - s.thread(thread).vruntime)

    evenkeel.conformance(Extreme)
    assert evenkeel.simulate("Sync-2", "2B2S", Extreme).makespan_s > 0


def test_a_policy_may_simulate_while_it_is_made():
    class Tuned(Policy):
        def __init__(self):
            self.best = evenkeel.simulate("fft", "2B2S").makespan_s

    compared = evenkeel.compare("radix", "2B2S", ["cfs", Tuned], seeds=2)
    assert len(compared.runs) == 8


class Drawing(evenkeel.Policy):
    """Draws where threads go, from the seed of the run."""

    def __init__(self):
        self.random = random.Random(self.seed)

    def place(self, s, thread, why):
        return self.random.choice(s.thread(thread).allowed)


def test_a_policy_draws_from_the_seed_of_its_run():
    seen = []

    class Seen(Drawing):
        def __init__(self):
            super().__init__()
            seen.append(self.seed)

    compared = evenkeel.compare("radix", "2B2S", [Seen], seeds=3, orders=["declared"]).runs
    runs = zip(compared["policy"], compared["seed"], compared["makespan_s"])
    drawn = {seed: makespan for policy, seed, makespan in runs if policy == "Seen"}
    assert set(seen) == {0, 1, 2, 3}, "one is made to be looked at before"
    assert len(drawn) == 3 and len(set(drawn.values())) > 1
    for seed, makespan in drawn.items():
        assert evenkeel.simulate("radix", "2B2S", Drawing, seed=seed).makespan_s == makespan


def test_a_seed_may_be_of_ones_own():
    seeds = []

    class Fixed(evenkeel.Policy):
        def __init__(self, seed):
            # Another policy is made, for a run of its own, while this one is.
            evenkeel.simulate("radix", "2B2S", Drawing, seed=9)
            seeds.append(self.seed)
            self.seed = seed

        def place(self, s, thread, why):
            assert self.seed is None
            return super().place(s, thread, why)

    evenkeel.simulate("radix", "2B2S", functools.partial(Fixed, None), seed=2)
    assert set(seeds) == {0, 2}
    assert evenkeel.Policy().seed == 0


def test_what_a_policy_draws_is_no_certainty(undrawn_text):
    """Nothing is known of what it draws: runs are not taken for alike, whatever the workload draws."""

    class Draws(Policy):
        def place(self, s, thread, why):
            return random.choice(s.thread(thread).allowed)

    undrawn = evenkeel.Workload.from_toml(undrawn_text, "undrawn")
    assert not evenkeel.simulate(undrawn, "2B2S").drawn
    compared = evenkeel.compare(undrawn, "2B2S", ["cfs", Draws], seeds=4, orders=["declared"])
    runs = compared.runs.to_pydict()
    of_draws = [m for p, m in zip(runs["policy"], runs["makespan_s"]) if p == "Draws"]
    assert len(set(of_draws)) > 1


def test_an_exception_in_accepts_fails_the_scenario_of_that_machine():
    class Needs(Policy):
        def accepts(self, machine):
            return None if machine.big[1] else "a second big core"

    found = evenkeel.conformance(Needs)
    assert (found.passed, len(found.failed)) == (3 * 3, 3 * 2)
    for line in found.failed:
        assert "its mask" in line and "in accepts: IndexError" in line

    class Broken(Policy):
        def accepts(self, machine):
            return {}["the key"]

    found = evenkeel.conformance(Broken)
    assert (found.passed, len(found.failed)) == (0, 3 * 5)


def test_a_policy_that_accepts_no_machine_has_not_passed():
    with pytest.raises(AssertionError, match="nothing was tried"):
        evenkeel.conformance(returning("accepts", "none of these")).check()


def test_results_do_not_depend_on_how_many_threads_work():
    def runs(threads):
        compared = evenkeel.compare("Sync-2", "2B2S", ["cfs", Fcf], seeds=3, threads=threads)
        return compared.runs.to_pydict()

    assert runs(1) == runs(2) == runs(None)
