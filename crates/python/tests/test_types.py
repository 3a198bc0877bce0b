"""The types that type checkers see: of the compiled module, of calls, of the package."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import site
import subprocess
import sys
from pathlib import Path

import pytest

import evenkeel

needs_mypy = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None, reason="mypy is not installed"
)

PACKAGE = Path(evenkeel.__file__).parent
STUBS = PACKAGE / "_native.pyi"

# In the stubs a hook's parameters are by position only: the scheduler passes them so, and a policy
# may name them as it likes. The compiled hooks accept names, too, which is an error for stubtest.
# `test_hooks` compares the hooks instead.
ALLOWED = r"evenkeel\._native\.Policy\.[a-z].*"

# These two need not be installed, how much of them has types depends on their version, and mypy
# takes long to read them: their exports count as `Any`. What plots.py returns is often one of them.
CONFIG = """
[mypy]
[mypy-distributed.*,matplotlib.*]
follow_imports = skip
follow_imports_for_stubs = True
ignore_missing_imports = True
[mypy-evenkeel.plots]
warn_return_any = False
"""

RIGHT = """
from __future__ import annotations

from pathlib import Path

import evenkeel
from evenkeel import Changes, Machine, Pick, Policy, Span, State, Why


class BigFirst(Policy):
    name = "big-first"
    reads = "speedups"
    guarantees = ["takes-over"]

    def __init__(self, least: float = 1.5) -> None:
        self.name = f"big-first-{least}"
        self.least = least
        self.ran_for: dict[int, int] = {}

    def accepts(self, machine: Machine) -> str | None:
        return None if machine.big else "big cores"

    def period(self) -> int:
        return 10_000_000

    def admit(self, state: State, thread: int) -> list[int]:
        return state.big or list(super().admit(state, thread))

    def place(self, s: State, thread: int, why: Why) -> int:
        idle = [core for core in s.thread(thread).allowed if s.idle(core)]
        return idle[0] if idle and why.kind == "woken" else super().place(s, thread, why)

    def pick(self, s: State, core: int) -> Pick | None:
        first = s.core(core).first
        return super().pick(s, core) if first is None else Pick.queued(first)

    def ran(self, s: State, thread: int, core: int, span: Span) -> None:
        self.ran_for[thread] = self.ran_for.get(thread, 0) + span.time

    def refresh(self, s: State, changes: Changes) -> None:
        for thread in s.living:
            on_big = s.thread(thread).window[0]["instructions"]
            if on_big is not None and s.speedup(thread) > self.least:
                changes.affinity(thread, s.big)


def progress(stage: str, done: int, of: int) -> None:
    print(stage, done, of)


run = evenkeel.simulate("Sync-2", policy=BigFirst, machine="2B2S", delay="50us", trace=Path("t"))
waited: list[float] = run.threads["waited_s"]
machine = Machine("2B2S", {"costs.tick_us": 4000})
policies = ["cfs", "gts"]
mixed: list[str | type[Policy]] = ["gts", BigFirst]
evenkeel.compare("Sync-2", [machine, "2B4S"], mixed, noise=True)
evenkeel.compare("Sync-2", machine, ["cfs", BigFirst, lambda: BigFirst(2.0)])
compared = evenkeel.compare(["Sync-2"], machine, policies, baseline=BigFirst, progress=progress)
evenkeel.compare("Sync-2", machine, BigFirst, orders=["declared"], seeds=10)
table = evenkeel.Table(compared.runs)
grid = {"machines": ["2B2S"], "workloads": ["Sync-2"], "policies": policies, "seeds": 3}
swept = evenkeel.sweep(grid, "runs.parquet", progress=progress)
file: Path = swept.path
found = evenkeel.difference([[(1.0, 2.0)]])
low: float | None = found.low if found is not None else None
evenkeel.conformance(BigFirst).check()
evenkeel.merge([Path("1.parquet"), "2.parquet"], file, incomplete=True)
names: list[str] = evenkeel.experiments()
rows: evenkeel.Table = evenkeel.reproduce("aaws").rows
evenkeel.reproduce("all")["aaws"].save_html("aaws.html")
"""

WRONG = """
from __future__ import annotations

import evenkeel
from evenkeel import Pick, Policy, Run, State, Why


class Wrong(Policy):
    name = 5  # wrong
    reads = "speedup"  # wrong
    guarantees = ["take-over"]  # wrong

    def place(self, s: State, thread: int, why: Why) -> str:  # wrong
        return "0"

    def pick(self, s: State, core: int) -> int:  # wrong
        return core

    def slice(self, s: State, thread: int) -> int:  # wrong
        return s.now

    def predictor(self) -> str:  # wrong
        return "good"

    def period(self) -> float:  # wrong
        return 1e6

    def preempts(self, s: State, woken: int, running: int, core: int) -> bool:
        return s.thread(woken).run == "waiting"  # wrong

    def balance(self, s: State, core: int) -> Pick | None:
        return Pick.queued(s.core(core).current)  # wrong


class Needs(Policy):
    def __init__(self, knob: int) -> None:
        self.knob = knob


class Extended(Run):  # wrong
    pass


evenkeel.compare(1)  # wrong
evenkeel.compare("Sync-2", "2B2S", [1])  # wrong
evenkeel.compare("Sync-2", "2B2S", Needs)  # wrong
evenkeel.compare("Sync-2", "2B2S", "cfs", orders="declared")  # wrong
evenkeel.compare("Sync-2", "2B2S", "cfs", None)  # wrong
evenkeel.simulate("Sync-2", "2B2S", order="biggest-first")  # wrong
evenkeel.simulate("Sync-2", "2B2S").makespan  # wrong
evenkeel.sweep(1, "runs.parquet")  # wrong
evenkeel.Table([1, 2])  # wrong
"""


@needs_mypy
def test_stubs_are_those_of_the_compiled_module(tmp_path: Path) -> None:
    allowed = _file(tmp_path / "allowed", ALLOWED)
    config = _file(tmp_path / "mypy.ini", CONFIG)
    options = ["--allowlist", str(allowed), "--mypy-config-file", str(config)]
    code, output = _python(tmp_path, "mypy.stubtest", "evenkeel._native", *options)
    assert code == 0, output


def test_hooks() -> None:
    classes = (node for node in ast.parse(STUBS.read_text()).body if isinstance(node, ast.ClassDef))
    policy = next(node for node in classes if node.name == "Policy")
    hooks = (
        node for node in policy.body if isinstance(node, ast.FunctionDef) and node.name != "__new__"
    )
    stubs = {
        hook.name: [argument.arg for argument in hook.args.posonlyargs or hook.args.args]
        for hook in hooks
    }
    compiled = {
        name: [parameter.strip("_") for parameter in inspect.signature(hook).parameters]
        for name, hook in vars(evenkeel.Policy).items()
        if not name.startswith("__") and callable(hook)
    }
    assert stubs == compiled


def test_stubs_are_plain() -> None:
    assert [line for line in STUBS.read_text().splitlines() if len(line) > 100] == []
    undocumented = [
        node.name
        for node in ast.walk(ast.parse(STUBS.read_text()))
        if isinstance(node, (ast.ClassDef, ast.FunctionDef))
        and not node.name.startswith("_")
        and ast.get_docstring(node) is None
    ]
    assert undocumented == []


@needs_mypy
def test_right_calls(tmp_path: Path) -> None:
    code, output = _mypy(tmp_path, str(_file(tmp_path / "right.py", RIGHT)))
    assert code == 0, output


@needs_mypy
def test_wrong_calls(tmp_path: Path) -> None:
    code, output = _mypy(tmp_path, str(_file(tmp_path / "wrong.py", WRONG)))
    assert code == 1, output
    found = {int(line) for line in re.findall(r"wrong\.py:(\d+): error:", output)}
    expected = {
        number for number, line in enumerate(WRONG.splitlines(), 1) if line.endswith("# wrong")
    }
    assert found == expected, output


@needs_mypy
def test_own_files(tmp_path: Path) -> None:
    code, output = _mypy(tmp_path, "--package", "evenkeel")
    assert code == 0, output


def _file(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def _mypy(folder: Path, *what: str) -> tuple[int, str]:
    """What mypy says of files or a package, and of nothing that they import."""
    config = _file(folder / "mypy.ini", CONFIG)
    # Shared between tests: mypy reads Python's own types once.
    cache = folder.parent / "mypy-cache"
    options = [f"--config-file={config}", f"--cache-dir={cache}", "--follow-imports=silent"]
    return _python(folder, "mypy", "--strict", *options, *what)


def _python(folder: Path, module: str, *arguments: str) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MYPY")}
    # mypy finds what is installed by itself, but not what is on PYTHONPATH.
    root = str(PACKAGE.parent)
    if root not in [*site.getsitepackages(), site.getusersitepackages()]:
        environment["MYPYPATH"] = root
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr
