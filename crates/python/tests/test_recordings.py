"""Recordings of real programs: read, taken apart into tables, changed, written."""

import json

import pytest

import evenkeel

HEAD = {
    "evenkeel": 1,
    "command": ["./app", "-j2"],
    "makespan_ns": 3_000_000,
    "counted": False,
    "threads": 2,
    "notes": ["2 events were lost"],
}
THREADS = [
    {
        "thread": 0,
        "name": "main",
        "process": 0,
        "kind": "application",
        "at_ns": 0,
        "ops": [["spawn", 1], ["run", 1_000_000], ["wait"], ["run", 500_000]],
    },
    {
        "thread": 1,
        "name": "helper",
        "process": 0,
        "kind": "service",
        "spawned": True,
        "ops": [["sleep", 100_000], ["run", 2_000_000], ["wake", 0]],
    },
]
TEXT = "".join(json.dumps(line) + "\n" for line in [HEAD, *THREADS])


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "app.ek"
    path.write_text(TEXT)
    return evenkeel.Recording(path)


def test_what_it_says(recording):
    assert recording.name == "app" and recording.command == ["./app", "-j2"]
    assert recording.makespan_s == 0.003 and not recording.counted and recording.machine is None
    assert recording.notes == ["2 events were lost"]
    assert repr(recording) == "<evenkeel.Recording app: 2 threads, 0.003 s>"
    assert recording.threads.to_pydict() == {
        "thread": [0, 1],
        "process": [0, 0],
        "name": ["main", "helper"],
        "kind": ["application", "service"],
        "start_ns": [0, None],
    }
    assert recording.steps.to_pydict() == {
        "thread": [0, 0, 0, 0, 1, 1, 1],
        "item": [None] * 7,
        "step": ["spawn", "run", "wait", "run", "sleep", "run", "wake"],
        "of": [1, None, None, None, None, None, 0],
        "amount": [None, 1_000_000, None, 500_000, 100_000, 2_000_000, None],
    }


def test_it_is_played_and_written_as_it_was_read(recording, tmp_path):
    run = evenkeel.simulate(recording.workload(called="mine"), "2B2S")
    assert run.workload == "mine" and run.makespan_s > 0.0026
    recording.save(tmp_path / "copy.ek")
    assert evenkeel.Recording(tmp_path / "copy.ek").steps.to_pydict() == recording.steps.to_pydict()
    with pytest.warns(UserWarning, match="2 events were lost"):
        again = evenkeel.simulate(tmp_path / "copy.ek", "2B2S")
    assert again.makespan_s == run.makespan_s
    assert evenkeel.Recording.from_text(recording.to_text(), "app").to_text() == recording.to_text()


def test_steps_that_were_changed_are_put_back(recording):
    polars = pytest.importorskip("polars")
    steps = polars.DataFrame(recording.steps)
    longer = steps.with_columns(
        amount=polars.when(polars.col("step") == "run")
        .then(polars.col("amount") * 2)
        .otherwise("amount")
    )
    changed = recording.with_steps(longer)
    assert changed.steps["amount"] == [None, 2_000_000, None, 1_000_000, 100_000, 4_000_000, None]
    assert recording.with_steps(recording.steps).to_text() == recording.to_text()
    before = evenkeel.simulate(recording.workload(), "2B2S").makespan_s
    assert evenkeel.simulate(changed.workload(), "2B2S").makespan_s > 1.5 * before


@pytest.mark.parametrize(
    ("row", "change", "message"),
    [
        (
            0,
            {"step": "spwan"},
            r'row 0 of the steps: unknown operation "spwan": did you mean "spawn"',
        ),
        (1, {"amount": None}, "row 1 of the steps: .*lacks its argument"),
        (2, {"amount": 5}, "row 2 of the steps: .*too many arguments"),
        (3, {"thread": 7}, "row 3 of the steps: expected one of 2 threads or 0 items"),
        (4, {"thread": None}, "row 4 of the steps: expected either a thread or an item"),
        (5, {"amount": -1}, 'column "amount" of the steps: expected whole amounts'),
        (6, {"of": 1}, "the recording with these steps:"),
    ],
)
def test_steps_that_make_no_sense_are_said(recording, row, change, message):
    pyarrow = pytest.importorskip("pyarrow")
    steps = recording.steps.to_pydict()
    for column, value in change.items():
        steps[column][row] = value
    with pytest.raises(evenkeel.Error, match=message):
        recording.with_steps(pyarrow.table(steps))


def test_what_is_no_recording_is_said(tmp_path):
    (tmp_path / "no.ek").write_text("{}")
    with pytest.raises(evenkeel.Error, match="no.ek:1: "):
        evenkeel.Recording(tmp_path / "no.ek")
    with pytest.raises(OSError, match="none.ek"):
        evenkeel.Recording(tmp_path / "none.ek")
    with pytest.raises(KeyError, match='no column "item"'):
        evenkeel.Recording.from_text(TEXT, "app").with_steps(
            evenkeel.simulate("radix", "2B2S").spans
        )
