"""Pages lead to files outside of docs/, which the site has, too, under `files/`, and to notebooks, which are pages there."""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)\s:#]+)((?:#[^)\s]*)?\))")
NOTEBOOKS = "crates/python/notebooks"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page for each notebook."""
    for notebook in sorted((ROOT / NOTEBOOKS).glob("*.ipynb")):
        files.append(File.generated(config, page_of(notebook.name), content=markdown(notebook)))
    return files


def page_of(notebook: str) -> str:
    """Where its page is in the site."""
    return f"notebooks/{Path(notebook).stem}.md"


def markdown(notebook: Path) -> str:
    """What it says, with its code; what it prints is not in the repository."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells]
    kinds = [cell["cell_type"] for cell in cells]
    parts = [
        text if kind == "markdown" else f"```python\n{text}\n```"
        for kind, text in zip(kinds, texts, strict=True)
    ]
    return "\n\n".join([*parts, "`scripts/python notebook` opens it, to be run."])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links that leave docs/ into links to copies, and those to folders into links to their first page."""
    here = posixpath.dirname(page.file.src_uri)
    origin = NOTEBOOKS if here == "notebooks" else posixpath.join("docs", here)

    def within(link: re.Match[str]) -> str:
        start, path, end = link.groups()
        target = posixpath.normpath(posixpath.join(origin, path))
        if not (ROOT / target).exists():
            return link.group()
        if target.startswith(f"{NOTEBOOKS}/"):
            there = page_of(target)
        elif target.startswith("docs/"):
            there = target.removeprefix("docs/")
            if (ROOT / target).is_dir():
                there += "/" + sorted(file.name for file in (ROOT / target).glob("*.md"))[0]
        else:
            there = f"files/{target}.txt" if (ROOT / target).is_file() else f"files/{target}/index.txt"
            end = ")"
            if files.get_file_from_path(there) is None:
                files.append(File.generated(config, there, content=text(ROOT / target)))
        return f"{start}{posixpath.relpath(there, here or '.')}{end}"

    return LINK.sub(within, markdown)


def text(path: Path) -> str:
    """A file, or a list of a folder's."""
    if path.is_file():
        return path.read_text(encoding="utf-8")
    return "".join(f"{file.relative_to(path)}\n" for file in sorted(path.rglob("*")) if file.is_file())
