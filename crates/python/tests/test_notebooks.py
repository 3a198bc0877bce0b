"""The notebooks run from their first cell to the last, and are kept without what they printed."""

import json
import os
import re
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

import evenkeel

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)

#: The longest that a cell may take, in seconds: a build without optimisations on two busy cores takes a tenth.
CELL = 300


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 3


@each
def test_outputs_are_stripped(path):
    for cell in cells(path):
        assert cell["metadata"] == {}, cell["id"]
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, cell["id"]


@each
def test_links_lead_somewhere(path):
    text = "\n".join(
        "".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "markdown"
    )
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert link.startswith("https://") or (FOLDER / link).is_file(), link


@each
def test_what_it_imports_comes_with_the_extra(path):
    code = "\n".join("".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "code")
    imports = set(re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE))
    needs = [line for line in requires("evenkeel") if "extra ==" in line and "notebooks" in line]
    known = {re.match(r"\w+", line).group() for line in needs} | {
        "evenkeel",
        *sys.stdlib_module_names,
    }
    assert imports <= known


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """The name of a kernel that runs this interpreter. Nothing is installed, and nothing of the user's is read."""
    for package in ("ipykernel", "matplotlib_inline", "matplotlib", "polars"):
        pytest.importorskip(package, reason=f"the notebooks need {package}")
    spec = tmp_path / "jupyter" / "kernels" / "evenkeel-tests" / "kernel.json"
    spec.parent.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec.write_text(
        json.dumps({"argv": argv, "display_name": "Evenkeel's tests", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    paths = [str(Path(evenkeel.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    # Figures are drawn, as they are for a reader.
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "TMPDIR"):
        folder = tmp_path / variable.lower()
        folder.mkdir()
        monkeypatch.setenv(variable, str(folder))
    return "evenkeel-tests"


@each
def test_a_notebook_runs(path, kernel, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="nbclient runs the notebooks")
    nbformat = pytest.importorskip("nbformat", reason="nbformat reads the notebooks")
    working = tmp_path / "working"
    working.mkdir()
    client = nbclient.NotebookClient(
        nbformat.read(path, as_version=4),
        kernel_name=kernel,
        timeout=CELL,
        resources={"metadata": {"path": str(working)}},
    )
    found = ""
    try:
        client.execute()
    except nbclient.exceptions.CellExecutionError as error:
        found = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    if found:
        pytest.fail(f"{path.name}: {found}", pytrace=False)
    for cell in client.nb.cells:
        if cell.cell_type == "code" and re.search(r"\bpl(ots|t)\.\w+\(", cell.source):
            shown = [output for output in cell.outputs if "image/png" in output.get("data", {})]
            assert shown, f"cell {cell.id} draws, and shows no figure"
    # What a notebook writes belongs in a folder for temporary files.
    assert not list(working.iterdir())
