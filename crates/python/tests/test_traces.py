"""Perfetto traces: written, and read, also those of other programs."""

import os

import pytest

import evenkeel


def test_traces_go_out_and_come_in(tmp_path):
    path = tmp_path / "run.perfetto-trace"
    run = evenkeel.simulate("radix", "2B2S", "gts", trace=path)
    slices = evenkeel.read_trace(path).to_pydict()
    on_cores = [i for i, track in enumerate(slices["track"]) if track.startswith("core ")]
    assert sum(slices["end_ns"][i] - slices["start_ns"][i] for i in on_cores) > 0
    assert slices["process"][on_cores[0]] == "2B2S"
    assert os.listdir(tmp_path) == ["run.perfetto-trace"]
    plain = evenkeel.simulate("radix", "2B2S", "gts")
    assert plain.spans.to_pydict() == run.spans.to_pydict(), "watching changes nothing"
    tracks = (slices[name] for name in ("track", "name", "start_ns", "end_ns"))
    rows = [(track.split()[1], *rest) for track, *rest in zip(*tracks) if track.startswith("core ")]
    ran = run.spans.to_pydict()
    threads = (f"{program}/{name}" for program, name in zip(ran["program"], ran["name"]))
    cores = map(str, ran["core"])
    assert sorted(rows) == sorted(zip(cores, threads, ran["start_ns"], ran["end_ns"]))
    (tmp_path / "no.trace").write_bytes(b"\xff\xff\xff")
    with pytest.raises(evenkeel.Error, match="no Perfetto trace"):
        evenkeel.read_trace(tmp_path / "no.trace")
    with pytest.raises(OSError, match="missing"):
        evenkeel.read_trace(tmp_path / "missing")
    with pytest.raises(OSError, match="nowhere"):
        evenkeel.simulate("radix", "2B2S", trace=tmp_path / "nowhere" / "x")


def test_counters_of_a_trace_are_the_tables_of_its_run(tmp_path):
    path = tmp_path / "run.perfetto-trace"
    run = evenkeel.simulate("radix", "odroid-xu3", "cfs", governor="schedutil", trace=path)
    counters = evenkeel.read_counters(path).to_pydict()
    assert set(counters["process"]) == {run.machine} and set(counters["unit"]) == {"W", "MHz"}
    # A table leaves out what a cluster had for no time.
    read = dict(zip(zip(counters["at_ns"], counters["track"]), counters["value"]))
    power, changes = run.power.to_pydict(), run.frequencies.to_pydict()
    expected = {
        (at, f"{cluster} power"): watts
        for at, cluster, watts in zip(power["at_ns"], power["cluster"], power["power_w"])
    }
    expected |= {
        (at, f"{cluster} frequency"): hz / 1e6
        for at, cluster, hz in zip(changes["at_ns"], changes["cluster"], changes["hz"])
    }
    assert len(changes["hz"]) > 2 and read == expected


def varint(number):
    low = bytes([number & 127 | (128 if number > 127 else 0)])
    return low + varint(number >> 7) if number > 127 else low


def message(*fields):
    """A message in Protobuf's format: fields are numbers with a whole number or bytes each."""
    return b"".join(
        varint(number << 3) + varint(value)
        if isinstance(value, int)
        else varint(number << 3 | 2) + varint(len(value)) + value
        for number, value in fields
    )


def trace(*packets):
    """A trace, of packets of sequence 1 unless they say another: a field's last value counts."""
    return message(*((1, message((10, 1), *fields)) for fields in packets))


#: As Perfetto's SDK begins: a clock of its own in microseconds, each from the one before, and a track unless an event says another.
BEGIN = [
    (13, 1),
    (
        6,
        message((1, message((1, 6), (2, 5_000))), (1, message((1, 64), (2, 5), (3, 1), (4, 1000)))),
    ),
    (59, message((58, 64), (11, message((11, 7))))),
]


def test_traces_of_other_programs_come_in(tmp_path):
    path = tmp_path / "other.perfetto-trace"
    path.write_bytes(
        trace(
            BEGIN,
            [(60, message((1, 7), (5, 9), (4, message((1, 1), (2, 2), (5, b"worker")))))],
            [(60, message((1, 9), (3, message((1, 1), (6, b"app")))))],
            [(60, message((1, 8), (10, b"queue"), (8, b"")))],
            [
                (8, 2),
                (12, message((2, message((1, 3), (2, b"load"))))),
                (11, message((9, 1), (10, 3))),
            ],
            [(8, 1), (11, message((9, 4), (11, 8), (30, 42)))],
            [(8, 1), (11, message((9, 2)))],
            [(8, 9_000), (58, 6), (11, message((9, 1), (10, 3)))],
        )
    )
    assert evenkeel.read_trace(path).to_pydict() == {
        "track": ["worker"] * 2,
        "process": ["app"] * 2,
        "name": ["load"] * 2,
        "start_ns": [7_000, 9_000],
        "end_ns": [9_000, None],
    }
    assert evenkeel.read_counters(path).to_pydict() == {
        "track": ["queue"],
        "process": [None],
        "unit": [None],
        "at_ns": [8_000],
        "value": [42.0],
    }


def test_packets_of_several_sequences_come_in_any_order(tmp_path):
    path = tmp_path / "other.perfetto-trace"
    path.write_bytes(
        trace(
            [(10, 2), (8, 20), (11, message((9, 2), (11, 5)))],
            [(10, 2), (8, 30), (11, message((9, 4), (11, 6), (30, 2)))],
            [(8, 10), (11, message((9, 1), (11, 5), (23, b"load")))],
            [(8, 15), (11, message((9, 4), (11, 6), (30, 1)))],
        )
    )
    slices = evenkeel.read_trace(path).to_pydict()
    assert (slices["start_ns"], slices["end_ns"]) == ([10], [20])
    counters = evenkeel.read_counters(path).to_pydict()
    assert (counters["at_ns"], counters["value"]) == ([15, 30], [1.0, 2.0])


def counter_trace(*described):
    """A trace of a counter that is 3: how it is described are fields of its descriptor."""
    return trace(
        [(60, message((1, 1), (13, b"queue"), (8, message(*described))))],
        [(8, 1), (11, message((9, 4), (11, 1), (30, 3)))],
    )


@pytest.mark.parametrize(
    ("described", "unit", "value"),
    [
        ([(3, 1)], "ns", 3.0),
        ([(3, 2), (4, 0)], "count", 3.0),
        ([(3, 3), (4, 1024)], "bytes", 3072.0),
        ([(3, 2), (6, b"frames")], "frames", 3.0),
    ],
)
def test_counters_of_other_programs_have_units_and_multipliers(tmp_path, described, unit, value):
    (tmp_path / "some.trace").write_bytes(counter_trace(*described))
    counters = evenkeel.read_counters(tmp_path / "some.trace").to_pydict()
    found = (counters["track"], counters["unit"], counters["value"])
    assert found == (["queue"], [unit], [value])


def test_a_counter_that_has_differences_is_an_error(tmp_path):
    (tmp_path / "some.trace").write_bytes(counter_trace((5, 1)))
    with pytest.raises(evenkeel.Error, match="some.trace: the counter queue has differences"):
        evenkeel.read_counters(tmp_path / "some.trace")
    assert len(evenkeel.read_trace(tmp_path / "some.trace")) == 0


@pytest.mark.parametrize(
    ("packets", "expected"),
    [
        ([[(1, b"")], [(8, 1)]], "no track event in 2 packets: expected a trace that has some"),
        ([BEGIN, [(8, 1), (11, message((9, 1), (10, 3)))]], "a slice is called number 3"),
        ([[(8, 1), (58, 64), (11, message((9, 1)))]], "times by clock 64"),
    ],
)
def test_what_a_trace_lacks_is_said(tmp_path, packets, expected):
    (tmp_path / "some.trace").write_bytes(trace(*packets))
    for read in (evenkeel.read_trace, evenkeel.read_counters):
        with pytest.raises(evenkeel.Error, match=f"some.trace: {expected}"):
            read(tmp_path / "some.trace")
