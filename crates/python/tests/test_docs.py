"""What the documentation shows runs as it stands there."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
NOT_RUN = "# not run here"


@pytest.mark.parametrize("page", ["docs/python.md", "crates/python/README.md"])
def test_examples_run_in_their_order(page, tmp_path, monkeypatch):
    for needed in ("matplotlib", "polars"):
        pytest.importorskip(needed)
    import matplotlib

    matplotlib.use("agg")
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        if not block.startswith(NOT_RUN):
            exec(compile(block, page, "exec"), names)
