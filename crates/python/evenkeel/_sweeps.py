"""Sweeps, on this machine or on a Dask cluster."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Union

from . import _native

if TYPE_CHECKING:
    from distributed import Client

#: A grid: an object, its file, the text of its file, or what that says as a dict.
GridLike = Union[_native.Grid, "os.PathLike[str]", str, Mapping[str, Any]]

Progress = Callable[[str, int, int], object]


def sweep(
    grid: GridLike,
    path: os.PathLike[str] | str,
    *,
    client: Client | None = None,
    batch: int = 1000,
    fresh: bool = False,
    drop: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    max_events: int | None = None,
) -> _native.Sweep:
    """Does the runs of a grid that are not done yet, and writes them to a Parquet file, a row a run.

    What is done stays done: after an end in the middle the same call does the rest, without ``fresh``.

    ``grid`` is a :class:`Grid`, a file, the text of one, or a dict. With a Dask ``client`` the runs are spread over its
    workers in tasks of ``batch`` runs or a little more each, at most 512 tasks; parts that are done are kept in a folder beside
    ``path`` until all are. Files that a grid names must be there for the workers, too. A grid that has grown is done anew there:
    ``drop`` replaces its table.

    ``fresh`` does all runs anew; ``drop`` leaves out what the file has and the grid has not. ``threads`` is how many threads work:
    all cores here, one for each task of a cluster. ``progress`` is called with the stage and how much of it is done and how much
    there is: machines and workloads of the grid that are read, then runs or parts. A run of more than ``max_events`` events has an ``error``.
    """
    grid = _grid(grid, progress)
    if client is None:
        return _native.sweep(
            grid,
            path,
            fresh=fresh,
            drop=drop,
            threads=threads,
            progress=progress,
            max_events=max_events,
        )
    path = Path(path)
    # Also with `fresh`: it says what would be lost.
    whole = _native.is_done(grid, path, drop=drop, max_events=max_events)
    if whole and not fresh and not (_folder(path) / FRESH).exists():
        return _native.read(path)
    return _spread(grid, path, client, batch, fresh, threads or 1, progress, max_events)


#: Where this file is among the parts, the table beside them does not count: all runs are being done anew.
FRESH = ".fresh"


def _folder(path: Path) -> Path:
    """Where parts are until all are done."""
    return path.with_name(path.name + ".parts")


def open_sweep(path: os.PathLike[str] | str) -> _native.Sweep:
    """The table of a sweep that was done before, also by ``evenkeel sweep``."""
    return _native.read(path)


def _grid(grid: GridLike, progress: Progress | None) -> _native.Grid:
    if isinstance(grid, _native.Grid):
        return grid
    if isinstance(grid, Mapping):
        return _native.Grid.from_dict(dict(grid), progress=progress)
    if isinstance(grid, str) and ("\n" in grid or ("=" in grid and not os.path.exists(grid))):
        return _native.Grid(grid, progress=progress)
    path = Path(grid)
    return _native.Grid(path.read_text(encoding="utf-8"), str(path), progress=progress)


def _part(
    text: str, expected: str, number: int, of: int, threads: int, max_events: int | None
) -> bytes:
    """A part of a grid, on a worker."""
    grid = _native.Grid(text)
    if grid.hash != expected:
        raise _native.Error(
            "a worker has another version of evenkeel, or other files by the names that the grid has: expected the same everywhere"
        )
    return _native.part(grid, number, of, threads=threads, max_events=max_events)


def _spread(
    grid: _native.Grid,
    path: Path,
    client: Client,
    batch: int,
    fresh: bool,
    threads: int,
    progress: Progress | None,
    max_events: int | None,
) -> _native.Sweep:
    if batch < 1:
        raise ValueError(f"batch={batch}: expected at least one run a task")
    # Each part is a file that is open while they are merged.
    of = min(max(1, -(-len(grid) // batch)), 512)
    folder = _folder(path)
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        return _parts(grid, path, folder, client, of, fresh, threads, progress, max_events)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time works in a folder, which is removed once it is empty."""
    with open(folder / ".lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise _native.Error(
                f"{folder}: another process is at this sweep: wait for it, or write to another file"
            ) from None
        yield
        left = [entry for entry in folder.iterdir() if entry.name != ".lock"]
        if not left:
            (folder / ".lock").unlink()
            folder.rmdir()


def _parts(
    grid: _native.Grid,
    path: Path,
    folder: Path,
    client: Client,
    of: int,
    fresh: bool,
    threads: int,
    progress: Progress | None,
    max_events: int | None,
) -> _native.Sweep:
    from distributed import as_completed

    # Parts of other grids, or of another number of tasks, are not mixed up: they have other names.
    limit = "" if max_events is None else f"-{max_events}"
    parts = [
        folder / f"{grid.hash[:16]}{limit}-{number}-of-{of}.parquet" for number in range(1, of + 1)
    ]
    if fresh:
        # Those of another number of tasks, too: a later call with that would find them done.
        for part in folder.glob("*.parquet"):
            part.unlink()
        (folder / FRESH).touch()
    missing = [number for number, part in enumerate(parts, 1) if not _native.is_whole(part)]
    done = of - len(missing)
    tell = progress or (lambda *_: None)
    tell("parts", done, of)
    futures = {
        client.submit(
            _part, grid.text, grid.hash, number, of, threads, max_events, pure=False
        ): number
        for number in missing
    }
    try:
        for future, table in as_completed(list(futures), loop=client.loop, with_results=True):
            if isinstance(table, BaseException):  # such as that it was cancelled
                raise table
            _native.write(parts[futures[future] - 1], table)
            # What has been written need not stay on the cluster.
            future.release()
            done += 1
            tell("parts", done, of)
    finally:
        client.cancel(list(futures))
    # What would be lost was said before.
    swept = _native.merge(parts, path, drop=True)
    # Also those of other grids, and what a kill has left.
    for entry in folder.iterdir():
        if entry.suffix in (".parquet", ".partial") or entry.name == FRESH:
            entry.unlink()
    return swept
