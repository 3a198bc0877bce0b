"""Tables in Arrow's format go to other packages and come from them."""

import pytest

import evenkeel


@pytest.fixture(scope="module")
def compared():
    return evenkeel.compare("Sync-2", "2B2S", ["cfs", "gts"], seeds=2)


def test_columns_by_name(compared):
    table = compared.runs
    assert len(table) == 8 and table.column_names[:5] == [
        "workload",
        "machine",
        "policy",
        "order",
        "seed",
    ]
    assert table["seed"] == [1, 2] * 4 and table.to_pydict()["policy"] == ["cfs"] * 4 + ["gts"] * 4
    assert [program["name"] for program in table["programs"][0]] == ["dedup", "fluidanimate"]
    assert list(table) == table.column_names and "seed" in table and "wall" not in table
    with pytest.raises(KeyError, match='no column "wall": expected one of workload'):
        table["wall"]
    assert repr(table).startswith("<evenkeel.Table: 8 rows; workload, machine")


def test_a_notebook_shows_the_first_rows():
    run = evenkeel.simulate("radix", "2B2S")
    spans = run.spans
    shown = spans._repr_html_()
    assert shown.count("<tr>") == 11 and "<th>core_type</th>" in shown and "<td>big</td>" in shown
    assert f"and {len(spans) - 10} more rows" in shown and "None" not in shown
    few = run.cores._repr_html_()
    assert few.count("<tr>") == len(run.cores) + 1 and "more rows" not in few
    pyarrow = pytest.importorskip("pyarrow")
    assert "&lt;b&gt;" in evenkeel.Table(pyarrow.table({"<b>": [1]}))._repr_html_()


def test_pyarrow_shares_the_memory(compared):
    pyarrow = pytest.importorskip("pyarrow")
    spans = evenkeel.simulate("radix", "2B2S").spans
    one, other = pyarrow.table(spans), pyarrow.table(spans)
    address = lambda table: table["start_ns"].chunk(0).buffers()[1].address  # noqa: E731
    assert address(one) == address(other), "no copy was made"
    assert one.to_pydict() == spans.to_pydict()
    back = evenkeel.Table(one)
    assert address(pyarrow.table(back)) == address(one) and back.to_pydict() == spans.to_pydict()
    assert pyarrow.table(compared.runs).schema.field("programs").type.value_type.num_fields == 2


def test_polars_shares_the_memory():
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow says where memory is")
    spans = evenkeel.simulate("radix", "2B2S").spans
    own = pyarrow.table(spans)["start_ns"].chunk(0).buffers()[1].address
    taken = polars.DataFrame(spans)["start_ns"].to_arrow()
    assert taken.buffers()[1].address == own, "no copy was made"


def test_tables_are_made_once(compared):
    run = evenkeel.simulate("radix", "2B2S")
    names = [name for name in dir(run) if isinstance(getattr(run, name), evenkeel.Table)]
    assert {"spans", "wakeups", "responses", "power", "frequencies", "threads"} < set(names)
    for table in names:
        assert getattr(run, table) is getattr(run, table), table
    assert compared.runs is compared.runs and compared.effects is compared.effects


def test_polars_takes_and_gives(compared):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(compared.runs)
    assert frame["makespan_s"].to_list() == compared.runs["makespan_s"]
    assert evenkeel.Table(frame.select("policy", "seed")).to_pydict() == frame.select(
        "policy", "seed"
    ).to_dict(as_series=False)


def test_columns_without_values_and_narrow_ones_are_taken():
    pyarrow = pytest.importorskip("pyarrow")
    narrow = pyarrow.array([1.5, None], pyarrow.float32())
    table = pyarrow.table({"none": pyarrow.nulls(2), "narrow": narrow})
    assert evenkeel.Table(table).to_pydict() == {"none": [None, None], "narrow": [1.5, None]}


def test_pandas_takes(compared):
    pandas = pytest.importorskip("pandas")
    if not hasattr(pandas.DataFrame, "from_arrow"):
        pytest.skip("this pandas does not take Arrow tables by itself (pandas 3 does)")
    frame = pandas.DataFrame.from_arrow(compared.runs)
    assert frame["seed"].tolist() == compared.runs["seed"]


def test_what_is_no_table_is_said():
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        evenkeel.Table([1, 2])
