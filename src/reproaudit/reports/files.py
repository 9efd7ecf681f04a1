"""Scorecards as files: `OUT/<tier>/<slug>/scorecard.{html,json,md}` and `OUT/<tier>/index.html`.

Those of measurements from elsewhere stand in `OUT/<tier>/<slug>/elsewhere/<who and when>/`, apart.

Each file is complete or absent, never half written. `scorecard.json` is read back into the very
scorecard that was written, so that the other files can be made again from it, byte by byte.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reproaudit.errors import StoreError, UsageError, did_you_mean
from reproaudit.multiverse.model import Multiverse
from reproaudit.reports.html import Elsewhere, render_html, render_html_index
from reproaudit.reports.markdown import render_markdown
from reproaudit.reports.multiverse import multiverse_html, multiverse_markdown
from reproaudit.scorecard import SCORECARD_VERSION, OriginModel, Scorecard


def render_json(scorecard: Scorecard) -> str:
    """The scorecard as JSON with its digest: sorted keys, no NaN, one trailing newline."""
    return _json(scorecard.as_data())


def _json(data: Any) -> str:
    return json.dumps(data, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


_FORMATS: dict[str, Callable[[Scorecard], str]] = {
    "html": render_html,
    "json": render_json,
    "md": render_markdown,
}
FORMATS = tuple(_FORMATS)
"""The formats that are files; the terminal is not."""


def write_report(
    scorecard: Scorecard, out_dir: Path, formats: Iterable[str] = FORMATS
) -> tuple[Path, ...]:
    """Write a scorecard in some formats.

    Returns:
        The files written, in the order of `formats`.

    Raises:
        UsageError: an unknown format.
        StoreError: the folder cannot be written.
    """
    wanted = list(dict.fromkeys(formats))
    for name in wanted:
        if name not in _FORMATS:
            raise UsageError(f"unknown format '{name}'. {did_you_mean(name, FORMATS)}")
    folder = Path(out_dir) / _name(scorecard.tier) / _name(scorecard.paper.get("slug"))
    if scorecard.origin is not None:
        folder = folder / "elsewhere" / _submission(scorecard.origin)
    # What is rendered is what a reader of the JSON file would get, so that the two agree.
    same = Scorecard.model_validate_json(render_json(scorecard))
    texts = {name: _FORMATS[name](same) for name in wanted}
    if "html" in texts and (folder / "multiverse.html").is_file():
        texts["html"] = render_html(same, multiverse=True)
    return tuple(replace_file(folder / f"scorecard.{name}", text) for name, text in texts.items())


_MULTIVERSE_FORMATS: dict[str, Callable[[Multiverse], str]] = {
    "html": multiverse_html,
    "json": lambda multiverse: _json(multiverse.model_dump(mode="json", by_alias=True)),
    "md": multiverse_markdown,
}


def write_multiverse(multiverse: Multiverse, out_dir: Path) -> tuple[Path, ...]:
    """Write a multiverse beside its paper's scorecard, whose page then links to it.

    Raises:
        StoreError: the folder cannot be written, or holds a scorecard that cannot be read.
    """
    folder = Path(out_dir) / _name(multiverse.tier) / _name(multiverse.paper["slug"])
    written = tuple(
        replace_file(folder / f"multiverse.{name}", render(multiverse))
        for name, render in _MULTIVERSE_FORMATS.items()
    )
    if (folder / "scorecard.html").is_file() and (folder / "scorecard.json").is_file():
        write_report(read_scorecard(folder / "scorecard.json"), out_dir, ["html"])
    return written


def write_index(scorecards: Sequence[Scorecard], out_dir: Path) -> tuple[Path, ...]:
    """Write the index page of each tier among the scorecards.

    It leads to the pages of measurements from elsewhere, too, that are in the folder.

    Raises:
        StoreError: the folder cannot be written, or holds a scorecard that cannot be read.
    """
    tiers = list(dict.fromkeys(card.tier for card in scorecards))
    return tuple(
        replace_file(
            Path(out_dir) / _name(tier) / "index.html",
            render_html_index(
                [card for card in scorecards if card.tier == tier],
                _submissions(Path(out_dir) / _name(tier)),
            ),
        )
        for tier in tiers
    )


def refresh_index(out_dir: Path, tier: str) -> tuple[Path, ...]:
    """Write the index page of a tier again, if it has one.

    Raises:
        StoreError: the folder cannot be written, or holds a scorecard that cannot be read.
    """
    folder = Path(out_dir) / _name(tier)
    if not (folder / "index.html").is_file():
        return ()
    cards = [read_scorecard(file) for file in sorted(folder.glob("*/scorecard.json"))]
    return write_index(cards, out_dir)


def _submissions(folder: Path) -> list[Elsewhere]:
    """What is shown of measurements from elsewhere at one tier, by paper and folder."""
    return [
        Elsewhere(file.parent.relative_to(folder).as_posix(), card)
        for file in sorted(folder.glob("*/elsewhere/*/scorecard.json"))
        if file.with_suffix(".html").is_file() and (card := read_scorecard(file)).origin is not None
    ]


def read_scorecard(path: Path) -> Scorecard:
    """Read a `scorecard.json`.

    Raises:
        StoreError: it cannot be read, is no scorecard, or is one of another version.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_no_nan)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise StoreError(f"{path} is not JSON: {error}") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCORECARD_VERSION:
        raise StoreError(
            f"{path} has scorecard version {version!r}, and this program reads version "
            f"{SCORECARD_VERSION}. Render it again from the records with 'reproaudit report'."
        )
    try:
        return Scorecard.model_validate_json(json.dumps(data))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "as a whole"
        raise StoreError(f"{path} is no scorecard: {where}: {first['msg']}") from error


def _submission(origin: OriginModel) -> str:
    """A folder for measurements from elsewhere: who made them, and when."""
    who = re.sub(r"[^a-z0-9]+", "_", origin.who.lower()).strip("_")[:40]
    return f"by_{who or 'someone'}_{re.sub('[^0-9]+', '_', origin.made)}"


def _name(name: object) -> str:
    """A slug or a tier as a folder's name; a scorecard made elsewhere may hold anything."""
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise StoreError(
            f"{name!r} cannot name a folder: lower-case letters, digits and underscores can"
        )
    return name


def _no_nan(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


def replace_file(path: Path, content: str | bytes) -> Path:
    """Put a file in its place whole: written beside it first, then renamed over it.

    Raises:
        StoreError: it cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(name, 0o644)  # a temporary file is private; a report is not
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}. Choose another folder with --out."
        ) from error
    return path
