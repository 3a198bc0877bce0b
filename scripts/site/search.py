"""The index of the search is a script here: browsers let a page that is a file load scripts, but neither fetch nor start workers."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Leaves out the worker, which would fetch the index. What takes its place is `theme/search/main.js`."""
    files.remove(files.src_uris["search/worker.js"])
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """Has the index in a call, after the plugin has written it."""
    index = Path(config.site_dir) / "search/search_index.json"
    call = f"searchable({index.read_text(encoding='utf-8')});\n"
    index.with_suffix(".js").write_text(call, encoding="utf-8")
    index.unlink()
