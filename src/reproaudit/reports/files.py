"""Documents as files: `OUT/<tier>/<slug>/scorecard.{html,json,md}`.

Beside a scorecard's page stand the numbers of its pictures, `pictures.csv`.

Those of measurements from elsewhere stand in `OUT/<tier>/<slug>/elsewhere/<who and when>/`, apart;
others of the same people and day get a number behind that name, and so do the same measurements
when other claims of them are judged, or by another rule.

Each file is complete or absent, never half written. `scorecard.json` is read back into the very
scorecard that was written, so that the other files can be made again from it, byte by byte.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from reproaudit.bounded import decode_json, read_regular
from reproaudit.errors import StoreError
from reproaudit.lazy import deferred
from reproaudit.reports.drawable import undrawable
from reproaudit.reports.formats import PAGES, Rendered, known_formats
from reproaudit.reports.picture_data import FILE, has_pictures, pictures_csv
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.scorecard.model import SCORECARD_VERSION, Scorecard

if TYPE_CHECKING:
    from reproaudit.diff.model import Comparison
    from reproaudit.multiverse.model import Multiverse

_difference = deferred("reproaudit.reports.difference")
_multiverse = deferred("reproaudit.reports.multiverse")

MOST_CARD_BYTES = 2**26
"""Of a `scorecard.json`; the largest so far has a fiftieth of it."""


class OtherVersionError(StoreError):
    """The scorecard was written by another version of this program, whose format is another one."""


RENDER_AGAIN = "Render it again from the records with 'reproaudit report'."

FILES = tuple(PAGES)
"""Every format that is a file."""


def _write(rendered: Rendered, folder: Path, stem: str, formats: Iterable[str]) -> tuple[Path, ...]:
    """Writes a document in the formats that are files, in the order of their registry."""
    wanted = known_formats(formats)
    texts = {name: one.render(rendered) for name, one in PAGES.items() if name in wanted}
    return tuple(replace_file(folder / f"{stem}.{name}", text) for name, text in texts.items())


def as_read(card: Scorecard) -> Scorecard:
    """Returns the scorecard as a reader of its JSON file gets it, so that the two agree."""
    return Scorecard.model_validate(card.as_data())


def write_report(
    scorecard: Scorecard, out_dir: Path, formats: Iterable[str] = FILES
) -> tuple[Path, ...]:
    """Writes a scorecard in some formats and returns the files.

    Raises:
        UsageError: at an unknown format.
        StoreError: if the folder cannot be written.
    """
    folder = Path(out_dir) / folder_name(scorecard.tier) / folder_name(scorecard.paper.get("slug"))
    wanted = known_formats(formats)
    if scorecard.origin is not None:
        folder = submission_folder(scorecard, out_dir)
        wanted = known_formats([*wanted, "json"])  # by which the next one knows it again
    data = scorecard.as_data()
    card = Scorecard.model_validate({**data, "digest": None})  # one's own need not be checked
    multiverse = (folder / "multiverse.html").is_file()
    csv = FILE if "html" in wanted and has_pictures(card) else ""
    document = scorecard_document(card, multiverse=multiverse, index=card.origin is None, data=csv)
    written = _write(Rendered(document, data), folder, "scorecard", wanted)
    return (*written, replace_file(folder / csv, pictures_csv(card))) if csv else written


def write_multiverse(
    multiverse: Multiverse, out_dir: Path, formats: Iterable[str] = FILES
) -> tuple[Path, ...]:
    """Writes a multiverse beside its paper's scorecard, whose page then links to it.

    Raises:
        StoreError: if the folder cannot be written, or holds a scorecard that cannot be read.
    """
    folder = Path(out_dir) / folder_name(multiverse.tier) / folder_name(multiverse.paper["slug"])
    rendered = Rendered(_multiverse.multiverse_document(multiverse), multiverse.as_data())
    written = _write(rendered, folder, "multiverse", formats)
    if (folder / "scorecard.html").is_file() and (folder / "scorecard.json").is_file():
        write_report(read_scorecard(folder / "scorecard.json"), out_dir, ["html"])
    return written


def write_comparison(
    comparison: Comparison, folder: Path, formats: Iterable[str]
) -> tuple[Path, ...]:
    """Writes a comparison as `difference.html` and so on, as far as they are asked for.

    Raises:
        StoreError: if the folder cannot be written.
    """
    rendered = Rendered(_difference.comparison_document(comparison), comparison.as_data())
    return _write(rendered, folder, "difference", formats)


def read_scorecard(path: Path) -> Scorecard:
    """Reads a `scorecard.json`.

    Raises:
        OtherVersionError: if it is a scorecard of another version.
        StoreError: if it cannot be read, or is no scorecard.
    """
    try:
        content = read_regular(path, MOST_CARD_BYTES)
        data = decode_json(
            content, parse_constant=_finite, parse_float=_finite, parse_int=_finite_integer
        )
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise StoreError(f"{path} is not JSON: {error}") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCORECARD_VERSION:
        raise OtherVersionError(
            f"{path} has scorecard version {version!r}, and this program reads version "
            f"{SCORECARD_VERSION}. {RENDER_AGAIN}"
        )
    try:
        card = Scorecard.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "as a whole"
        raise StoreError(f"{path} is no scorecard: {where}: {first['msg']}") from error
    if fault := undrawable(card):
        raise StoreError(f"{path} is no scorecard: {fault}. {RENDER_AGAIN}")
    return card


def submission_folder(scorecard: Scorecard, out_dir: Path) -> Path:
    """Returns the folder for measurements from elsewhere: the one of the same ones, or a new one.

    It is named after who made them and when. Others of that name are never overwritten, and neither
    is what the same ones gave for other claims or by another rule: the next number is put behind.

    Raises:
        StoreError: if the scorecard's slug or tier cannot name a folder.
    """
    first, standing = _first_folder(scorecard, out_dir), _standing(scorecard, out_dir)
    for folder, card in standing.items():
        if card is not None and _is_judged_again(card, scorecard):
            return folder
    numbered = (first.with_name(f"{first.name}_{number}") for number in itertools.count(2))
    return next(one for one in itertools.chain([first], numbered) if one not in standing)


def _first_folder(scorecard: Scorecard, out_dir: Path) -> Path:
    origin = scorecard.origin
    assert origin is not None, "measurements from elsewhere have an origin"
    who = re.sub(r"[^a-z0-9]+", "_", origin.who.lower()).strip("_")[:40]
    name = f"by_{who or 'someone'}_{re.sub('[^0-9]+', '_', origin.made)}"
    paper = Path(out_dir) / folder_name(scorecard.tier) / folder_name(scorecard.paper.get("slug"))
    return paper / "elsewhere" / name


def _standing(scorecard: Scorecard, out_dir: Path) -> dict[Path, Scorecard | None]:
    """Returns what stands under a submission's name and that name with a number, by folder."""
    first = _first_folder(scorecard, out_dir)
    numbers = {first: 1}
    for folder in first.parent.glob(f"{first.name}_*"):
        number = folder.name.removeprefix(f"{first.name}_")
        if re.fullmatch(r"[1-9][0-9]{0,8}", number):
            numbers[folder] = int(number)
    found: dict[Path, Scorecard | None] = {}
    for folder in sorted(numbers, key=numbers.__getitem__):
        if any((folder / f"scorecard.{name}").exists() for name in FILES):
            found[folder] = _readable(folder)
    return found


def _readable(folder: Path) -> Scorecard | None:
    try:
        return read_scorecard(folder / "scorecard.json")
    except StoreError:
        return None


def same_measurements(one: Scorecard, other: Scorecard) -> bool:
    """Returns whether two scorecards from elsewhere judge the same measurements."""
    if one.origin is None or other.origin is None:
        return False
    if one.origin.measurements and other.origin.measurements:
        return one.origin.measurements == other.origin.measurements
    return {r.fingerprint for r in one.records} == {r.fingerprint for r in other.records}


def _is_judged_again(one: Scorecard, other: Scorecard) -> bool:
    """Returns whether two scorecards judge the same measurements, claims and rules."""
    rules, others = ({claim.id: claim.rule_hash for claim in c.claims} for c in (one, other))
    return rules == others and same_measurements(one, other)


def folder_name(name: object) -> str:
    """Returns a slug or a tier as a folder's name; a foreign scorecard may hold anything."""
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
        raise StoreError(
            f"{name!r} cannot name a folder: lower-case letters, digits, '_' and '-' can"
        )
    return name


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:20]} is no finite number")
    return value


def _finite_integer(text: str) -> int:
    _finite(text)
    return int(text)


def replace_file(path: Path, content: str | bytes) -> Path:
    """Writes a file whole: beside its place first, then renamed over it; returns its path.

    Raises:
        StoreError: if it cannot be written.
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
