"""The compiled part of the package. Threads and cores are numbers; a hook's times are in ns."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypedDict, final, overload

from typing_extensions import CapsuleType, Self, TypeAlias, disjoint_base

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
    "is_done",
    "is_whole",
    "lists",
    "merge",
    "part",
    "read",
    "read_counters",
    "read_trace",
    "reproduce",
    "simulate",
    "sweep",
    "write",
]

__version__: str

_Path: TypeAlias = PathLike[str] | str
_Order: TypeAlias = Literal["declared", "big-first", "little-first"]
_Machine: TypeAlias = Machine | _Path
_Workload: TypeAlias = Workload | _Path
# A class is called without arguments, so that `type[Policy]` would allow too much.
_Policy: TypeAlias = str | Callable[[], Policy]
# The stage, the runs that are done, and those that there are.
_Progress: TypeAlias = Callable[[str, int, int], object]

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self) -> object: ...

class _OnType(TypedDict):
    time: int
    instructions: int | None
    counters: dict[str, float] | None

class _Future(TypedDict):
    level: int | None
    stretch: int
    speedup: float

class Error(ValueError):
    """Something does not exist, does not fit the rest, or could not be carried to its end."""

# Setups

@final
class Machine:
    """A machine: its cores, their types, clusters and power.

    `name` is that of a bundled machine, part of one (`odroid-xu3:2+2`), or a file (`.toml`, `.xml`,
    `.dtb`). `values` replace those of its file, by their place: `{"costs.tick_us": 4000}`.
    """

    def __new__(
        cls, name: _Path, values: dict[str, Any] | None = None, *, called: str | None = None
    ) -> Self: ...
    @staticmethod
    def from_toml(text: str, file: str = "machine.toml") -> Machine:
        """A machine from the text of a machine file. Errors call it `file`."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def description(self) -> str:
        """What it is, in a sentence."""

    @property
    def notes(self) -> list[str]:
        """What another tool's description of the machine leaves open, a sentence each."""

    @property
    def cores(self) -> int:
        """How many cores it has."""

    @property
    def big(self) -> list[int]:
        """The cores of the fastest type, by number."""

    @property
    def little(self) -> list[int]:
        """All other cores, by number."""

    @property
    def core_types(self) -> list[str]:
        """Its core types, the fastest first."""

    @property
    def clusters(self) -> list[str]:
        """Its clusters."""

    def frequencies(self, cluster: int) -> list[int]:
        """The frequencies of a cluster, by its number, in Hz, the lowest first."""

@final
class Workload:
    """A workload: programs whose threads compute, wait for each other and sleep.

    `name` is that of a bundled program or mix, several joined by `+`, or a file (`.json` of rt-app,
    `.toml`, or a recording, `.ek`). `values` replace those of its file, by their place.
    """

    def __new__(
        cls, name: _Path, values: dict[str, Any] | None = None, *, called: str | None = None
    ) -> Self: ...
    @staticmethod
    def from_toml(text: str, name: str, file: str = "workload.toml") -> Workload:
        """A workload from the text of a workload file. Errors call it `file`."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def programs(self) -> list[str]:
        """Its programs."""

    @property
    def recorded_on(self) -> Machine | None:
        """The machine that it was recorded on, if it is a recording that says so."""

    @property
    def warnings(self) -> list[str]:
        """What could not be carried over from its file, a sentence each."""

@final
class Recording:
    """A recording of a real program (`.ek`): what each of its threads did, step by step.

    `workload` is what `simulate` plays; a table of `steps` that was changed is put back by
    `with_steps`; `save` writes the file.
    """

    def __new__(cls, path: _Path) -> Self: ...
    @staticmethod
    def from_text(text: str, name: str, file: str = "recording.ek") -> Recording:
        """A recording from the text of its file. Errors call it `file`."""

    @property
    def name(self) -> str:
        """Its name: that of its file."""

    @property
    def command(self) -> list[str]:
        """The command with its arguments; empty if it is not known."""

    @property
    def machine(self) -> Machine | None:
        """The machine that it was recorded on, if it says so."""

    @property
    def makespan_s(self) -> float:
        """How long the program ran there, in seconds."""

    @property
    def counted(self) -> bool:
        """Whether computing is in instructions; else in ns on the biggest core of `machine`."""

    @property
    def notes(self) -> list[str]:
        """What a reader should know, such as events that were lost. A sentence each."""

    @property
    def threads(self) -> Table:
        """`thread`, `process`, `name`, `kind`, `start_ns` (missing if another thread starts it)."""

    @property
    def steps(self) -> Table:
        """What was done, in order: `thread` or `item` (what threads take from a list), `step`, `of`
        (a thread, item, barrier, pool or list, by its number), `amount` (of computing as `counted`
        says, else in ns). What a step does not have is missing.
        """

    def with_steps(self, steps: _ArrowStream) -> Recording:
        """The same threads with other steps: a table like `steps`, of any package."""

    def workload(self, *, called: str | None = None) -> Workload:
        """The workload that it is. `called` is its name in results."""

    def to_text(self) -> str:
        """The text of its file."""

    def save(self, path: _Path) -> None:
        """Writes its file, which `evenkeel sim` and `Workload` read."""

# Runs and results

@final
class Table:
    """A table in Arrow's format, which other packages take without a copy.

    `polars.DataFrame(table)`, `pyarrow.table(table)`, `pandas.DataFrame.from_arrow(table)`.
    """

    def __new__(cls, data: _ArrowStream) -> Self: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType:
        """The table as a stream of the Arrow PyCapsule interface."""

    def __len__(self) -> int:
        """How many rows it has."""

    def __contains__(self, column: object, /) -> bool:
        """Whether it has a column of this name."""

    def __iter__(self) -> Iterator[str]:
        """The names of its columns, one after the other."""

    def __getitem__(self, column: str, /) -> list[Any]:
        """A column, as a list."""

    @property
    def column_names(self) -> list[str]:
        """The names of its columns."""

    def to_pydict(self) -> dict[str, list[Any]]:
        """All columns, as lists."""

@final
class Run:
    """A run, and what happened in it. Printed, it is what `evenkeel sim` prints."""

    @property
    def workload(self) -> str:
        """The workload's name."""

    @property
    def machine(self) -> str:
        """The machine's name."""

    @property
    def policy(self) -> str:
        """The policy's name, with its knobs."""

    @property
    def order(self) -> _Order:
        """The order of the cores."""

    @property
    def seed(self) -> int:
        """The seed."""

    @property
    def drawn(self) -> bool:
        """Whether anything was drawn from the seed."""

    @property
    def makespan_s(self) -> float:
        """Until the last thread exited or the workload's duration was over, in seconds."""

    @property
    def h_antt(self) -> float:
        """Mean turnaround of the programs against that alone on big cores; lower is better."""

    @property
    def h_stp(self) -> float:
        """Sum over programs of the inverse of that ratio; higher is better."""

    @property
    def energy_j(self) -> float:
        """Energy of all cores, in joules."""

    @property
    def edp(self) -> float:
        """Energy times makespan, in joule seconds."""

    @property
    def migrations(self) -> int:
        """Moves of a thread to another core."""

    @property
    def context_switches(self) -> int:
        """Changes of the thread on a core."""

    @property
    def preemptions(self) -> int:
        """Threads that were stopped to let another run."""

    @property
    def events(self) -> int:
        """Events of the simulator."""

    @property
    def core_types(self) -> list[str]:
        """The machine's core types, the fastest first."""

    @property
    def programs(self) -> Table:
        """The programs: `name`, `turnaround_s` (missing if the run ended first)."""

    @property
    def threads(self) -> Table:
        """The threads, and how long each ran, waited for a core and for locks, in seconds."""

    @property
    def cores(self) -> Table:
        """The cores: `core`, `core_type`, `cluster`, `busy_s`, `energy_j`."""

    @property
    def spans(self) -> Table:
        """Which thread ran on which core, from `start_ns` to `end_ns`, and why it stopped."""

    @property
    def wakeups(self) -> Table:
        """When threads became ready, `latency_ns` until they ran, and the thread that woke each."""

    @property
    def responses(self) -> Table:
        """How long threads took from waking up by themselves until they waited again.

        `thread`, `program`, `name`, `response_ns`, and how many `times`.
        """

    @property
    def waits(self) -> Table:
        """Who waited for whom: `thread`, `by` which it was woken, `waited_s` in all, `times`."""

    @property
    def power(self) -> Table:
        """The power of each cluster until its next row: `at_ns`, `cluster`, `power_w`."""

    @property
    def frequencies(self) -> Table:
        """The frequency of each cluster until its next row: `at_ns`, `cluster`, `hz`."""

    def save_html(self, path: _Path) -> None:
        """Writes the page that `evenkeel sim --html` writes."""

@final
class Comparison:
    """Workloads on machines under policies, against one of them.

    Printed, it is what `evenkeel compare` prints.
    """

    @property
    def headline(self) -> str:
        """What was found, in a sentence: only effects that chance does not explain."""

    @property
    def baseline(self) -> str:
        """The policy that the others are compared with."""

    @property
    def policies(self) -> list[str]:
        """The policies."""

    @property
    def runs(self) -> Table:
        """The runs, a row each, with the columns of a sweep's table."""

    @property
    def effects(self) -> Table:
        """How much each policy differs from the baseline, in percent, with its 95 % interval.

        Over all core orders (`order` is missing), and in each.
        """

    def to_json(self) -> str:
        """The document that `evenkeel compare --format json` prints."""

    def save_html(self, path: _Path) -> None:
        """Writes the page that `evenkeel compare --html` writes."""

@final
class Difference:
    """How much one thing differs from another, in percent, with a 95 % interval."""

    @property
    def percent(self) -> float:
        """The geometric mean of the ratios, less one, in percent."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval; `None` for a single pair."""

    @property
    def high(self) -> float | None:
        """The upper end of the interval; `None` for a single pair."""

    @property
    def clear(self) -> bool:
        """Whether the interval is on one side of zero."""

    @property
    def seeds(self) -> int:
        """How many seeds it is from."""

@final
class Reproduction:
    """A paper's evaluation: what it published beside what comes out here.

    Printed, it is what `evenkeel reproduce` prints.
    """

    @property
    def title(self) -> str:
        """The paper."""

    @property
    def rows(self) -> Table:
        """What was published, a row each, beside what comes out here.

        `id`, `what`, `source`, `published`, `simulated`, `low` and `high` (its 95 % interval from
        seed to seed, missing with one seed), `verdict`.
        """

    @property
    def figures(self) -> Table:
        """The bars of the paper's figures, in their order.

        `figure`, `shows`, `panel`, `axis`, `base`, `better`, `group`, `series`, `color`,
        `published`, `simulated`, `low`, `high`, `bound`, `id`.
        """

    def to_json(self) -> str:
        """The document that `evenkeel reproduce --format json` prints."""

    def save_html(self, path: _Path) -> None:
        """Writes the page that `evenkeel reproduce --html` writes."""

@final
class Conformance:
    """What became of a policy in the scenarios that every host plays."""

    @property
    def passed(self) -> int:
        """How many runs did what was expected."""

    @property
    def failed(self) -> list[str]:
        """What did not, a sentence each: host, scenario, policy, what was found."""

    def check(self) -> None:
        """Raises an `AssertionError` with all that failed: for a test."""

@final
class Grid:
    """A grid: what is combined in a sweep. `text` is that of its file; errors call it `file`.

    ``progress`` is called with the stage and how much of it is done and how much there is.
    """

    def __new__(
        cls, text: str, file: str = "grid.toml", *, progress: _Progress | None = None
    ) -> Self: ...
    @staticmethod
    def from_dict(grid: dict[str, Any], *, progress: _Progress | None = None) -> Grid:
        """A grid from a dict, as its file would have it."""

    @property
    def text(self) -> str:
        """The text of its file."""

    @property
    def varied(self) -> dict[str, list[str]]:
        """What is varied, by the names of its columns."""

    def __len__(self) -> int:
        """How many runs it has."""

    @property
    def hash(self) -> str:
        """What it is known by: two grids with the same are the same, and what they name is."""

@final
class Sweep:
    """What a sweep has come to. Printed, it is what `evenkeel sweep` prints."""

    @property
    def path(self) -> Path:
        """The Parquet file."""

    def __len__(self) -> int:
        """How many runs it has."""

    @property
    def computed(self) -> int | None:
        """How many of them were done now; `None` if that is not known."""

    @property
    def failed(self) -> int:
        """How many of them could not be carried to their end."""

    @property
    def baseline(self) -> str:
        """The policy that the others are compared with."""

    @property
    def headline(self) -> str:
        """What was found, in a sentence."""

    @property
    def runs(self) -> Table:
        """The runs, a row each; for a large table use `polars.scan_parquet(sweep.path)`."""

    @property
    def effects(self) -> Table:
        """Effects against the baseline at each value of what has several values, over all else.

        Columns: `varied`, `value`, `policy`, `metric` (`h_antt`, `h_stp`, `energy`), `effect`,
        `low`, `high`, as a share: -0.1 is 10 % less.
        """

    def to_json(self) -> str:
        """The document that `evenkeel sweep --format json` prints."""

    def save_html(self, path: _Path) -> None:
        """Writes the page that `evenkeel sweep --html` writes."""

# Policies

@disjoint_base
class Policy:
    """A scheduling policy. A class that extends it overrides hooks; each is CFS otherwise.

    A class may have `name`, `reads`, `foresight` and `guarantees`, and an object may have a
    `name` of its own.
    `period` is asked anew after each `refresh`; `predictor`, `culprit`, `busy_factor`,
    `knows_capacities` and `balances_always` once, when a run begins.
    """

    # Read from policies, but not there unless a class or an object sets them.
    name: str
    """What results call it: without, the name of the class."""
    reads: Literal["nothing", "speedups", "stalls"]
    """What it needs to know of threads: predicted speedups, or counters. Without, nothing."""
    foresight: bool
    """Whether it must know the future: `Thread.future`. Without, no."""
    guarantees: Sequence[Literal["takes-over", "balances"]]
    """What `evenkeel.conformance` checks. Without, nothing more than of every policy."""

    seed: Any
    """The seed of its run, a number that is there in `__init__`, too; 0 outside a run.

    What a policy draws comes from a `random.Random(self.seed)`. A class may set another one.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """`__init__` of a class may take what it likes."""

    # The scheduler passes arguments by position: a class may name them as it likes.
    def accepts(self, machine: Machine, /) -> str | None:
        """What it needs and a machine does not have; `None` if it can schedule it."""

    def period(self) -> int | None:
        """The time from one `refresh` to the next; `None` if there is none."""

    def predictor(self) -> Literal["best", "second-best", "inverted"]:
        """How good the predictor of speedups should be."""

    def culprit(self) -> Literal["holders", "waker"]:
        """Which threads are blamed for a wait."""

    def admit(self, s: State, thread: int, /) -> Sequence[int]:
        """The cores that a thread may use from its creation on."""

    def place(self, s: State, thread: int, why: Why, /) -> int:
        """The core on which a ready thread is queued: one of those that it may run on."""

    def pick(self, s: State, core: int, /) -> Pick | None:
        """What a core without a thread runs next."""

    def slice(self, s: State, thread: int, core: int, /) -> int:
        """How long a thread may run on a core while others wait for it."""

    def charge(self, s: State, thread: int, core: int, ran: int, /) -> int:
        """What a span of running on a core costs a thread in virtual time."""

    def owes(self, s: State, running: int, core: int, /) -> int:
        """What the thread that runs on a core is still to be charged, as `charge` will have it."""

    def enter(self, s: State, thread: int, core: int, why: Why, /) -> int:
        """The virtual time with which a thread joins those that wait for a core."""

    def leave(self, s: State, thread: int, /) -> None:
        """A thread is about to leave the core that it runs on or waits for."""

    def arrive(self, s: State, thread: int, core: int, /) -> None:
        """A thread was sent to a core, and counts as running there."""

    def forget(self, thread: int, /) -> None:
        """A thread has exited, and its number may become another one's."""

    def expired(self, s: State, running: int, core: int, /) -> bool:
        """At a tick: whether the running thread has had its turn while others wait."""

    def ran(self, s: State, thread: int, core: int, span: Span, /) -> None:
        """A thread ran for a span, and may still run."""

    def preempts(self, s: State, woken: int, running: int, core: int, /) -> bool:
        """Whether a woken thread, queued on the core, preempts the one that runs there."""

    def balance(self, s: State, core: int, /) -> Pick | None:
        """At a tick: a thread that this core should pull from another one."""

    def busy_factor(self) -> int:
        """How much more rarely a busy core balances than an idle one."""

    def knows_capacities(self) -> bool:
        """Whether it knows what cores can do. If not, all count as the biggest."""

    def balances_always(self) -> bool:
        """Whether `balance` may name a thread for an idle core before an interval is over."""

    def turned(self, s: State, thread: int, changes: Changes, /) -> None:
        """A thread has become ready, begun to wait, or ended: what cannot wait for `refresh`."""

    def refresh(self, s: State, changes: Changes, /) -> None:
        """Once a period: changes where threads may run, or how fast."""

    def standing(self, s: State, thread: int, /) -> Literal["big", "little", "critical", "any"]:
        """What it thinks of a thread since the last `refresh`, which pages show."""

@final
class State:
    """What the scheduler knows. It is lent to a hook and is gone when that returns."""

    @property
    def machine(self) -> Machine:
        """The machine, its cores numbered as the operating system numbers them."""

    @property
    def now(self) -> int:
        """The time."""

    @property
    def cores(self) -> list[int]:
        """All cores."""

    @property
    def big(self) -> list[int]:
        """The cores of the fastest type."""

    @property
    def little(self) -> list[int]:
        """All other cores."""

    @property
    def idle_cores(self) -> list[int]:
        """The cores that have neither a thread nor a queue."""

    @property
    def queued_cores(self) -> list[int]:
        """The cores for which a thread waits."""

    @property
    def living(self) -> list[int]:
        """The threads that are alive."""

    @property
    def crowded(self) -> bool:
        """Whether some core is used to more than 80 % of its capacity."""

    @property
    def misfits(self) -> list[int]:
        """The cores that run a thread which they are too small for."""

    def thread(self, thread: int) -> Thread:
        """A thread."""

    def core(self, core: int) -> Queue:
        """The threads that wait for a core, and the one that runs there."""

    def idle(self, core: int) -> bool:
        """Whether a core has neither a thread nor a queue."""

    def occupancy(self, core: int) -> int:
        """How many threads run on or wait for a core."""

    def weight(self, core: int) -> int:
        """The summed weight of the threads that run on or wait for a core."""

    def capacity(self, core: int) -> int:
        """What a core can do at its highest frequency; 1024 is the biggest core's."""

    def capacity_now(self, core: int) -> int:
        """What a core can do at its cluster's frequency."""

    def usage(self, core: int, without: int | None = None) -> int:
        """How much of a core its threads use, but for the thread `without`."""

    def core_type(self, core: int) -> int:
        """The type of a core, by its position in `machine.core_types`: 0 is the fastest."""

    def cluster(self, core: int) -> int:
        """The cluster of a core, by its position in `machine.clusters`."""

    def frequency(self, cluster: int) -> int:
        """The frequency that a cluster was last set to, in Hz."""

    def domains(self, core: int) -> list[list[int]]:
        """The scheduling domains around a core, smallest first."""

    def balanced(self, core: int, level: int) -> int:
        """When a core last balanced in one of its domains."""

    def movable_current(self, core: int, to: int) -> int | None:
        """The thread that runs on a core, if it may move to `to`."""

    def speedup(self, thread: int) -> float:
        """The speedup of the biggest over the smallest core type for a thread."""

    def progress_rate(self, thread: int, core: int) -> float:
        """How many times faster a thread progresses on a core than on the smallest core type."""

@final
class Queue:
    """A core: the thread that runs there, and those that wait for it."""

    @property
    def current(self) -> int | None:
        """The thread that runs."""

    @property
    def waiting(self) -> list[int]:
        """The threads that wait, in their order."""

    @property
    def weight(self) -> int:
        """The summed weight of the threads that wait."""

    @property
    def min_vruntime(self) -> int:
        """The floor of the queue's virtual time."""

    @property
    def first(self) -> int | None:
        """The thread that is first in line."""

@final
class Thread:
    """A thread as policies see it. It is gone when the hook returns."""

    @property
    def number(self) -> int:
        """Its number."""

    @property
    def program(self) -> int:
        """The number of its program."""

    @property
    def kind(self) -> Literal["application", "service"]:
        """Whether it is an application's or a service."""

    @property
    def real_time(self) -> int | None:
        """Its real-time priority, if it is a real-time thread."""

    @property
    def weight(self) -> int:
        """Its weight among fair threads: 1024 at nice 0."""

    @property
    def run(self) -> Literal["ready", "running", "blocked", "absent"]:
        """What it does; `"absent"` is a thread that was introduced only, or has exited."""

    @property
    def waits_for(self) -> Literal["futex", "sleep"] | None:
        """What a blocked thread waits for: another thread, or time or a device."""

    @property
    def core(self) -> int:
        """The core that it runs on, waits for, or was on last."""

    @property
    def allowed(self) -> list[int]:
        """The cores that it may run on."""

    def may_run_on(self, core: int) -> bool:
        """Whether it may run on a core."""

    @property
    def vruntime(self) -> int:
        """Virtual time, comparable within one queue only."""

    @property
    def since(self) -> int:
        """When it began to run, became ready or blocked."""

    @property
    def last_ran(self) -> int:
        """When it last stopped running."""

    @property
    def utilisation(self) -> int:
        """How much of recent time it was runnable, of 1024, within its clamps."""

    @property
    def usage(self) -> int:
        """How much of the biggest core, of 1024, it used recently."""

    @property
    def demand(self) -> int:
        """How much of the biggest core, of 1024, it is going to need."""

    @property
    def executed(self) -> int:
        """All time spent running."""

    @property
    def stint(self) -> int:
        """Time it has run since it was last put on a core."""

    @property
    def waited(self) -> int:
        """All time spent ready, waiting for a core."""

    @property
    def contended(self) -> int:
        """All time spent blocked on other threads."""

    @property
    def blame(self) -> int:
        """All time that others waited for it."""

    @property
    def instructions(self) -> int | None:
        """Instructions retired, if the host can count them."""

    @property
    def speedup(self) -> float | None:
        """Predicted speedup of the biggest over the smallest core type, once there is one."""

    @property
    def future(self) -> _Future | None:
        """What is ahead of it, for policies with `foresight`; `None`: nothing depends on it.

        `level` is the least time until it and all that wait for it are done, on cores of the
        biggest type (`None`: not known), `stretch` how long it runs until it waits or releases
        another thread, `speedup` the true one of what it does in that time.
        """

    @property
    def window(self) -> list[_OnType]:
        """What it did since the last refresh, for each core type."""

@final
class Why:
    """Why a thread is ready."""

    @property
    def kind(self) -> Literal["new", "woken", "preempted", "yielded", "taken"]:
        """What happened."""

    @property
    def by(self) -> int | None:
        """The thread that started or woke it, or the core that takes it over, if there is one."""

@final
class Pick:
    """What a core should run next; `None` in its place is nothing."""

    @staticmethod
    def queued(thread: int) -> Pick:
        """This waiting thread, in whichever queue."""

    @staticmethod
    def running(thread: int) -> Pick:
        """This thread, which runs on another core."""

    @staticmethod
    def exchange(thread: int) -> Pick:
        """In `balance` only: this thread of another core, for the one that runs here."""

    @property
    def kind(self) -> Literal["queued", "running", "exchange"]:
        """Which of the three it is."""

    @property
    def thread(self) -> int:
        """The thread."""

    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

@final
class Span:
    """What a thread did in a span of running. What the host cannot count is `None`."""

    @property
    def time(self) -> int:
        """How long it ran."""

    @property
    def waited(self) -> int:
        """How long it was runnable and another thread had its core."""

    @property
    def instructions(self) -> int | None:
        """Instructions retired."""

    @property
    def counters(self) -> dict[str, float] | None:
        """Events counted, by their name."""

    @property
    def speedup(self) -> float | None:
        """The speedup of the code that ran, if it need not be predicted."""

@final
class Changes:
    """What a policy changes in `refresh` or `turned`."""

    def affinity(self, thread: int, cores: Sequence[int]) -> None:
        """The thread may run on these cores, within what its program allows."""

    def frequency(self, cluster: int, hz: int) -> None:
        """The cluster runs at this frequency: one of `s.machine.frequencies(cluster)`."""

# Functions

def simulate(
    workload: _Workload,
    machine: _Machine | None = None,
    policy: _Policy | None = None,
    *,
    seed: int | None = None,
    order: _Order = "declared",
    trace: _Path | None = None,
    max_events: int | None = None,
    predictor: _Path | None = None,
    **conditions: object,
) -> Run:
    """Simulates a workload on a machine under a policy.

    Conditions: `delay`, `governor`, `host`, `main`, `max_time`, `noise`, `oracle`, `tasks`.
    `predictor` is a file of `evenkeel train`.
    """

def compare(
    workloads: _Workload | Iterable[_Workload],
    machines: _Machine | Iterable[_Machine],
    policies: _Policy | Iterable[_Policy],
    *,
    baseline: _Policy | None = None,
    seeds: int = 5,
    orders: Sequence[_Order] | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
    max_events: int | None = None,
    predictor: _Path | None = None,
    **conditions: object,
) -> Comparison:
    """Compares policies: every workload on every machine under each, in pairs with the same seed.

    A `baseline` that is an object is the one among `policies`, or has a name of its own.

    Conditions: `delay`, `governor`, `host`, `main`, `max_time`, `noise`, `oracle`, `tasks`.
    `predictor` is a file of `evenkeel train`.
    """

def conformance(policy: _Policy) -> Conformance:
    """Tries a policy in every scenario that is for it, with prompt and with late decisions."""

@overload
def reproduce(  # type: ignore[overload-overlap]
    experiment: Literal["all"],
    *,
    oracle: bool = False,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> dict[str, Reproduction]:
    """Runs the evaluations of all papers, one after the other: by the names of the experiments."""

@overload
def reproduce(
    experiment: str,
    *,
    oracle: bool = False,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> Reproduction:
    """Runs the evaluation of a paper: one of `evenkeel.experiments()`."""

def difference(pairs: Sequence[Sequence[tuple[float, float]]]) -> Difference | None:
    """How much values differ in pairs: for each seed a list of `(baseline, value)`."""

def read_counters(path: _Path) -> Table:
    """The counters of a Perfetto trace: `track`, `process`, `unit`, `at_ns`, `value`."""

def read_trace(path: _Path) -> Table:
    """The slices of a Perfetto trace: `track`, `process`, `name`, `start_ns`, `end_ns`."""

def sweep(
    grid: Grid,
    path: _Path,
    *,
    fresh: bool,
    drop: bool,
    threads: int | None,
    progress: _Progress | None,
    max_events: int | None,
) -> Sweep:
    """Does the runs of a grid that are not done yet, and writes the table."""

def part(grid: Grid, number: int, of: int, *, threads: int | None, max_events: int | None) -> bytes:
    """Does a part of a grid, `number` of `of` from 1, and returns its table, a Parquet file."""

def merge(
    parts: Sequence[_Path], path: _Path, *, incomplete: bool = False, drop: bool = False
) -> Sweep:
    """Makes one table of the tables of parts: what one machine would have written.

    With ``incomplete`` runs may be missing. What ``path`` has and no part has is an error, or
    with ``drop`` is dropped.
    """

def is_done(grid: Grid, path: _Path, *, drop: bool, max_events: int | None) -> bool:
    """Whether a file has every run of a grid; an error if a sweep there was interrupted."""

def is_whole(path: _Path) -> bool:
    """Whether a file is the whole table of a sweep."""

def write(path: _Path, table: bytes) -> None:
    """Writes the table of a part, all of it or nothing."""

def read(path: _Path) -> Sweep:
    """The table of a sweep that was done before."""

def lists(kind: Literal["machines", "workloads", "policies", "experiments"]) -> str:
    """A list as the document that `evenkeel KIND --format json` prints."""
