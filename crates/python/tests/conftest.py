"""Says at the end what was tested in the words of `cargo test`, so that one tally (scripts/tally) counts both."""

import re

import pytest

#: A workload file in which nothing is drawn from a seed.
UNDRAWN = """
[[program]]
name = "one"
phases.work = { ilp = 2.0 }

[[program.threads]]
name = "worker"
count = 6
do = [{ repeat = 20, do = [{ compute = "1 Minst", phase = "work" }, { sleep = "1 ms" }] }]
"""


@pytest.fixture
def undrawn_text():
    return UNDRAWN


def pytest_terminal_summary(terminalreporter):
    stats = terminalreporter.stats
    for report in stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        name = re.sub(r"\s+", "-", report.nodeid)
        terminalreporter.write_line(f"test {name} ... ignored, {reason.removeprefix('Skipped: ')}")
    passed, failed = (
        len(stats.get("passed", [])),
        len(stats.get("failed", [])) + len(stats.get("error", [])),
    )
    result = "FAILED" if failed else "ok"
    terminalreporter.write_line(
        f"test result: {result}. {passed} passed; {failed} failed; 0 ignored"
    )
