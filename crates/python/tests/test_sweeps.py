"""Sweeps, here and on a Dask cluster."""

import json
import os
import threading
import time

import pytest

import evenkeel

GRID = {
    "machines": ["2B2S", "2B4S"],
    "workloads": ["radix", "fft"],
    "policies": ["cfs", "gts"],
    "seeds": 3,
    "machine": {"costs.migrate_across_clusters_us": [0, 60]},
}


def bytes_of(path):
    return path.read_bytes()


def test_a_sweep_is_done_once(tmp_path):
    told = []
    first = evenkeel.sweep(GRID, tmp_path / "a.parquet", progress=lambda *stage: told.append(stage))
    assert len(first) == first.computed == 2 * 2 * 2 * 2 * 3 * 2 and first.failed == 0
    # Two workloads and four machines, then runs.
    assert ("reading the grid", 6, 6) in told
    assert told[-1][0] in ("runs", "writing") and told[-1][1] == told[-1][2]
    again = evenkeel.sweep(GRID, tmp_path / "a.parquet")
    assert again.computed == 0 and again.headline == first.headline
    assert evenkeel.sweep(GRID, tmp_path / "a.parquet", fresh=True).computed == len(first)
    opened = evenkeel.open_sweep(tmp_path / "a.parquet")
    assert len(opened) == len(first) and opened.runs.to_pydict() == first.runs.to_pydict()
    assert "\x1b" not in str(opened) and opened.baseline == "cfs"


def test_effects_are_those_at_each_value(tmp_path):
    grid = {
        "machines": ["2B2S", "2B4S"],
        "workloads": ["radix"],
        "policies": ["cfs", "gts"],
        "seeds": 3,
        "machine": {"costs.migrate_across_clusters_us": [0, 60]},
    }
    swept = evenkeel.sweep(grid, tmp_path / "grid.parquet")
    rows = swept.effects.to_pydict()
    values = list(dict.fromkeys(zip(rows["varied"], rows["value"])))
    cost = "machine.costs.migrate_across_clusters_us"
    orders = [("order", "big-first"), ("order", "little-first")]
    assert values == [("machine", "2B2S"), ("machine", "2B4S"), (cost, "0"), (cost, "60"), *orders]
    one = evenkeel.sweep({**grid, "machines": ["2B4S"]}, tmp_path / "one.parquet")
    machine = [i for i, value in enumerate(rows["value"]) if value == "2B4S"]
    alone = json.loads(one.to_json())["effects"][0]
    assert rows["effect"][machine[0]] == pytest.approx(alone["h_antt"]["effect"])
    assert rows["low"][machine[0]] == pytest.approx(alone["h_antt"]["low"])
    swept.save_html(tmp_path / "sweep.html")
    assert cost in (tmp_path / "sweep.html").read_text(encoding="utf-8")


def test_columns_are_those_of_a_comparison(tmp_path):
    done = evenkeel.sweep(GRID, tmp_path / "a.parquet")
    swept = done.runs
    assert swept is done.runs, "it is read once"
    comparison = evenkeel.compare("radix", "2B2S", ["cfs", "gts"], seeds=1)
    compared = comparison.runs
    assert compared is comparison.runs, "it is made once"
    of_grid = {"run", "key", "error", "max_events", "machine.costs.migrate_across_clusters_us"}
    assert set(swept.column_names) - set(compared.column_names) == of_grid
    assert set(compared.column_names) < set(swept.column_names)


def test_mistakes_in_a_grid_have_a_line_only_in_a_file():
    for value, message in [
        (float("inf"), "^grid: machine.costs.tick_us = inf: expected a finite number"),
        (2**63, "machine.costs.tick_us = 9223372036854775808: expected a whole number from"),
    ]:
        with pytest.raises(evenkeel.Error, match=message):
            evenkeel.Grid.from_dict({**GRID, "machine": {"costs.tick_us": [1000, value]}})
    text = 'machines = ["2B2S"]\nworkloads = ["radix"]\npolicies = ["csf"]\n'
    with pytest.raises(evenkeel.Error, match=r"^grid.toml:3:13: policies: unknown policy"):
        evenkeel.Grid(text)


def test_a_grid_is_a_dict_a_text_or_a_file(tmp_path):
    text = evenkeel.Grid.from_dict(GRID).text
    (tmp_path / "grid.toml").write_text(text, encoding="utf-8")
    grid = evenkeel.Grid(text)
    assert len(grid) == 96 and grid.varied == {
        "machine.costs.migrate_across_clusters_us": ["0", "60"]
    }
    for given, name in [
        (grid, "a"),
        (text, "b"),
        (tmp_path / "grid.toml", "c"),
        (str(tmp_path / "grid.toml"), "d"),
    ]:
        evenkeel.sweep(given, tmp_path / name)
    assert len({bytes_of(tmp_path / name) for name in "abcd"}) == 1


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({**GRID, "seeds": 0}, "seeds is empty"),
        ({**GRID, "policies": ["csf"]}, 'did you mean "cfs"'),
        ({**GRID, "machine": {"costs.tick": [1]}}, "costs.tick"),
        ({"machines": ["2B2S"]}, '"workloads" is missing'),
        ("machines = 1\n", "grid.toml:1"),
        ({**GRID, "conditions": {"host": "run"}}, "only the command `evenkeel` has this host"),
        ({**GRID, "seeds": object()}, "grid.seeds: expected a number"),
        ({**GRID, "policies": [evenkeel.Policy]}, "grid.policies: expected a name"),
    ],
)
def test_mistakes_of_a_grid_are_said(tmp_path, grid, message):
    with pytest.raises(evenkeel.Error, match=message):
        evenkeel.sweep(grid, tmp_path / "x.parquet")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_none_is_said(tmp_path):
    with pytest.raises(FileNotFoundError):
        evenkeel.sweep(tmp_path / "missing.toml", tmp_path / "x.parquet")
    (tmp_path / "x.parquet").write_text("not a table")
    with pytest.raises(evenkeel.Error, match="x.parquet"):
        evenkeel.sweep(GRID, tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").read_text() == "not a table"


def test_a_part_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "part.parquet"
    for table in (b"first", b"second"):
        evenkeel._native.write(path, table)
        assert bytes_of(path) == table
    with pytest.raises(OSError, match="part.parquet"):
        evenkeel._native.write(tmp_path / "no" / "part.parquet", b"third")
    assert os.listdir(tmp_path) == ["part.parquet"]


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as client:
        yield client


def test_a_cluster_gives_the_bytes_of_one_machine(tmp_path, client):
    evenkeel.sweep(GRID, tmp_path / "here.parquet")
    told = []
    swept = evenkeel.sweep(
        GRID,
        tmp_path / "there.parquet",
        client=client,
        batch=10,
        progress=lambda *stage: told.append(stage),
    )
    assert bytes_of(tmp_path / "there.parquet") == bytes_of(tmp_path / "here.parquet")
    parts = [stage for stage in told if stage[0] == "parts"]
    assert len(swept) == 96 and parts[0] == ("parts", 0, 10) and told[-1] == ("parts", 10, 10)
    assert sorted(os.listdir(tmp_path)) == ["here.parquet", "there.parquet"]
    told.clear()
    evenkeel.sweep(
        GRID, tmp_path / "there.parquet", client=client, progress=lambda *stage: told.append(stage)
    )
    assert "parts" not in [stage for stage, *_ in told], "what is done is not done again"
    with pytest.raises(evenkeel.Error, match="another grid"):
        evenkeel.sweep({**GRID, "seeds": 4}, tmp_path / "there.parquet", client=client)
    grown = evenkeel.sweep(
        {**GRID, "seeds": 4}, tmp_path / "there.parquet", client=client, drop=True
    )
    assert len(grown) == 128
    with pytest.raises(evenkeel.Error, match="another grid"):
        evenkeel.sweep(GRID, tmp_path / "there.parquet", client=client, fresh=True)
    (tmp_path / "text").write_text("mine", encoding="utf-8")
    with pytest.raises(evenkeel.Error, match="text"):
        evenkeel.sweep(GRID, tmp_path / "text", client=client, fresh=True)
    assert (tmp_path / "text").read_text(encoding="utf-8") == "mine"


def test_a_cluster_goes_on_where_it_was(tmp_path, client):
    """The client is interrupted after a few parts; only the others are done then."""

    def enough(stage, done, _of):
        if stage == "parts" and done >= 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        evenkeel.sweep(GRID, tmp_path / "t.parquet", client=client, batch=10, progress=enough)
    parts = sorted(path.name for path in (tmp_path / "t.parquet.parts").glob("*.parquet"))
    assert len(parts) == 3 and not (tmp_path / "t.parquet").exists()
    # As after a power cut: the file is there, and what is in it is not.
    whole = bytes_of(tmp_path / "t.parquet.parts" / parts[0])
    (tmp_path / "t.parquet.parts" / parts[0]).write_bytes(whole[: len(whole) // 2])
    told = []
    evenkeel.sweep(
        GRID, tmp_path / "t.parquet", client=client, batch=10, progress=lambda *s: told.append(s)
    )
    assert next(done for stage, done, _ in told if stage == "parts") == 2
    evenkeel.sweep(GRID, tmp_path / "here.parquet")
    assert bytes_of(tmp_path / "t.parquet") == bytes_of(tmp_path / "here.parquet")


def test_what_is_done_anew_goes_on_where_it_was(tmp_path, client):
    """The old table is whole, and counts no more once it was said to be done anew."""
    path = tmp_path / "t.parquet"
    evenkeel.sweep(GRID, path)

    def enough(stage, done, _of):
        if stage == "parts" and done >= 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        evenkeel.sweep(GRID, path, client=client, batch=10, fresh=True, progress=enough)
    told = []
    evenkeel.sweep(GRID, path, client=client, batch=10, progress=lambda *s: told.append(s))
    assert next(done for stage, done, _ in told if stage == "parts") == 3
    assert os.listdir(tmp_path) == ["t.parquet"]


def test_what_is_done_anew_leaves_no_part_of_before(tmp_path, client):
    path = tmp_path / "t.parquet"
    folder = tmp_path / "t.parquet.parts"

    def enough(stage, done, _of):
        if stage == "parts" and done >= 3:
            raise RuntimeError("enough")

    for options in ({"batch": 10}, {"batch": 20, "max_events": 10**9, "fresh": True}):
        with pytest.raises(RuntimeError, match="enough"):
            evenkeel.sweep(GRID, path, client=client, progress=enough, **options)
        assert len(list(folder.glob("*.parquet"))) == 3
    told = []
    evenkeel.sweep(GRID, path, client=client, batch=10, progress=lambda *s: told.append(s))
    assert next(done for stage, done, _ in told if stage == "parts") == 0


def test_a_cluster_does_not_pass_by_what_was_begun_here(tmp_path, client):
    def enough(stage, done, _of):
        if stage == "runs" and done >= 3:
            raise RuntimeError("enough")

    path, grid = tmp_path / "t.parquet", {**GRID, "seeds": 300}
    with pytest.raises(RuntimeError, match="enough"):
        evenkeel.sweep(grid, path, threads=1, progress=enough)
    link = tmp_path / "link.parquet"
    link.symlink_to(path)
    told = []
    for table in (path, link):
        with pytest.raises(evenkeel.Error, match="not at its end: let `evenkeel sweep` end it"):
            evenkeel.sweep(grid, table, client=client, progress=lambda *s: told.append(s))
    assert "parts" not in [stage for stage, *_ in told]


def test_a_worker_that_is_killed_loses_nothing(tmp_path, cluster, client):
    grid = {**GRID, "workloads": ["Sync-2", "ferret", "radix"], "seeds": 8}
    evenkeel.sweep(grid, tmp_path / "here.parquet")
    client.wait_for_workers(2)
    victims, killed = [], threading.Event()

    def kill():
        # In the middle: while it works, after the first part.
        pid = next(iter(client.run(os.getpid).values()))
        victims.append(pid)
        os.kill(pid, 9)
        killed.set()

    def progress(stage, done, _of):
        if stage == "parts" and done == 2 and not victims:
            threading.Thread(target=kill).start()
            killed.wait(30)

    evenkeel.sweep(grid, tmp_path / "there.parquet", client=client, batch=16, progress=progress)
    assert len(victims) == 1
    assert bytes_of(tmp_path / "there.parquet") == bytes_of(tmp_path / "here.parquet")
    deadline = time.monotonic() + 60
    while len(client.scheduler_info()["workers"]) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)


def test_a_limit_of_events_is_part_of_what_is_done(tmp_path, client):
    path = tmp_path / "t.parquet"
    assert evenkeel.sweep(GRID, path, client=client, max_events=10).failed == 96
    assert evenkeel.sweep(GRID, path, client=client).failed == 0


def test_one_client_at_a_time(tmp_path, client):
    def another(stage, *_):
        if stage != "parts":
            return
        with pytest.raises(evenkeel.Error, match="another process is at this sweep"):
            evenkeel.sweep(GRID, tmp_path / "t.parquet", client=client)

    evenkeel.sweep(GRID, tmp_path / "t.parquet", client=client, batch=50, progress=another)


def test_an_error_on_a_worker_is_raised_here(tmp_path, client):
    grid = evenkeel.Grid.from_dict(GRID)
    future = client.submit(evenkeel._sweeps._part, grid.text, "another", 1, 2, 1, None, pure=False)
    with pytest.raises(evenkeel.Error, match="another version of evenkeel"):
        future.result()
    with pytest.raises(ValueError, match="at least one run a task"):
        evenkeel.sweep(grid, tmp_path / "x.parquet", client=client, batch=0)
