"""Pages lead to files outside of docs/, which the site has, too, under `files/`."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)\s:#]+)((?:#[^)\s]*)?\))")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links that leave docs/ into links to copies, and those to folders into links to their first page."""
    here = posixpath.dirname(page.file.src_uri)

    def within(link: re.Match[str]) -> str:
        start, path, end = link.groups()
        target = posixpath.normpath(posixpath.join("docs", here, path))
        if target.startswith("docs/") and (ROOT / target).is_dir():
            first = sorted(file.name for file in (ROOT / target).glob("*.md"))[0]
            return f"{start}{posixpath.join(path, first)}{end}"
        if target.startswith(("docs/", "..")) or not (ROOT / target).exists():
            return link.group()
        copy = f"files/{target}.txt" if (ROOT / target).is_file() else f"files/{target}/index.txt"
        if files.get_file_from_path(copy) is None:
            files.append(File.generated(config, copy, content=text(ROOT / target)))
        return f"{start}{posixpath.relpath(copy, here or '.')})"

    return LINK.sub(within, markdown)


def text(path: Path) -> str:
    """A file, or a list of a folder's."""
    if path.is_file():
        return path.read_text(encoding="utf-8")
    return "".join(f"{file.relative_to(path)}\n" for file in sorted(path.rglob("*")) if file.is_file())
