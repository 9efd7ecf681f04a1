"""The models of ``<slug>.run.yaml``: what is run for the experiments of an audit.

A command's placeholders are ``{seed}``, and ``{name}`` for a setting. No shell, no code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from reproaudit.cell import SettingValue
from reproaudit.declarations import Name, OneComplaint, StrictModel
from reproaudit.elsewhere.mapping import LoggedQuantity

SEED = "seed"
"""The placeholder that stands for the seed."""

_PIECE = re.compile(r"\{\{|\}\}|\{([a-z][a-z0-9_]*)\}|[{}]")


def placeholders(text: str) -> tuple[str, ...]:
    """The names in braces, in order.

    Raises:
        ValueError: if a brace is neither doubled nor around a name; in words for the user.
    """
    pieces = list(_PIECE.finditer(text))
    if any(piece.group() in ("{", "}") for piece in pieces):
        raise ValueError(
            f"found '{text[:60]}' with an unmatched brace; expected {{seed}}, a setting's name in "
            "braces, or '{{' and '}}' for the braces themselves"
        )
    return tuple(piece[1] for piece in pieces if piece[1])


def as_argument(value: SettingValue) -> str:
    """A value as text: a list's entries joined by commas, true and false in lower case."""
    if isinstance(value, tuple | list):
        return ",".join(map(as_argument, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def filled(
    text: str,
    values: Mapping[str, SettingValue],
    spelled: Mapping[str, Mapping[str, str | None]],
) -> str | None:
    """The text with its placeholders filled in; None if it is one that stands for nothing.

    Args:
        text: with placeholders.
        values: the seed and every setting.
        spelled: setting -> its value as `as_argument` writes it -> what the command takes instead,
            None for nothing.
    """
    words: dict[str, str | None] = {}
    for name in placeholders(text):
        plain = as_argument(values[name])
        words[name] = spelled.get(name, {}).get(plain, plain)
    if None in words.values():
        return None
    return _PIECE.sub(lambda piece: str(words[piece[1]]) if piece[1] else piece[0][0], text)


def _with_placeholders(text: str) -> str:
    placeholders(text)
    return text


def _inside(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or "\\" in text or re.match("[A-Za-z]:", text):
        raise ValueError(f"found '{text[:60]}'; expected a path within the source, without '..'")
    return text


def _of_form(pattern: str, words: str) -> AfterValidator:
    """Refuses text of another form, in words."""

    def hold(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"found '{text[:80]}'; expected {words}")
        return text

    return AfterValidator(hold)


Argument = Annotated[str, Field(max_length=4000), AfterValidator(_with_placeholders)]
InsidePath = Annotated[str, Field(min_length=1, max_length=400), AfterValidator(_inside)]
_Address = Annotated[str, _of_form("(?!-)((?!::).){1,2000}", "an address or a path")]
_Commit = Annotated[
    str, _of_form("[0-9a-f]{40}", "the whole id of a commit, 40 hexadecimal digits")
]
_Sha256 = Annotated[str, _of_form("[0-9a-f]{64}", "a SHA-256 of 64 hexadecimal digits")]
_Image = Annotated[
    str,
    _of_form(
        "[a-z0-9][A-Za-z0-9._:/-]*@sha256:[0-9a-f]{64}", "an image by its digest, NAME@sha256:…"
    ),
]
_Version = Annotated[str, _of_form(r"3\.\d{1,2}", 'a version of Python, such as "3.11"')]
_Variable = Annotated[str, _of_form("[A-Z][A-Z0-9_]*", "a name in capitals")]


def _tagged(value: Any) -> Any:
    """A measurement's origin; a tag alone may be written as plain text."""
    return {"tag": value} if isinstance(value, str) else value


class PinnedSource(StrictModel):
    """The pinned source: a git repository at a revision, or an archive with its SHA-256."""

    git: _Address | None = None
    """The repository's address, or its path from this file's folder."""
    revision: _Commit | None = None
    """The whole id of the commit, 40 hexadecimal digits. A branch or a tag can move."""
    archive: _Address | None = None
    """A zip or tar archive: an https address, or its path from this file's folder."""
    sha256: _Sha256 | None = None
    """The archive's SHA-256, 64 hexadecimal digits."""

    @model_validator(mode="after")
    def _pinned(self) -> PinnedSource:
        stated = frozenset(self.model_fields_set)
        if stated not in ({"git", "revision"}, {"archive", "sha256"}):
            raise ValueError(
                f"found {', '.join(sorted(stated)) or 'nothing'}; expected git with revision, or "
                "archive with sha256"
            )
        if self.archive is not None and self.archive.startswith("http:"):
            raise ValueError(f"found '{self.archive[:60]}'; expected https")
        return self

    @property
    def pin(self) -> str:
        """The identity of the source, wherever it lies: ``git …`` or ``sha256 …``."""
        return f"git {self.revision}" if self.git is not None else f"sha256 {self.sha256}"

    @property
    def words(self) -> str:
        """The source in a message."""
        return f"{self.git or self.archive} ({self.pin[:19]}…)"


class PythonEnvironment(StrictModel):
    """The Python of the command. Without any field: one with nothing installed."""

    requirements: InsidePath | None = None
    """A file of the source that pins every package, as `pip freeze` writes it."""
    lock: InsidePath | None = None
    """The source's `uv.lock`, beside its `pyproject.toml`."""
    python: _Version | None = None
    """The Python to run, such as "3.11"; by default the one that runs reproaudit."""
    image: _Image | None = None
    """Instead of all that, a container image by its digest, NAME@sha256:…, which Docker or Podman
    runs with the network off."""

    @model_validator(mode="after")
    def _one(self) -> PythonEnvironment:
        if len(self.model_fields_set & {"requirements", "lock", "image"}) > 1 or (
            self.image is not None and self.python is not None
        ):
            raise ValueError("state one of requirements, lock and image; python not with an image")
        return self


class CommandExperiment(StrictModel):
    """One experiment: its command, the files that this writes, and what they measure."""

    command: tuple[Argument, ...] = Field(min_length=1)
    """The program and its arguments, with `{seed}` and `{setting}`. There is no shell."""
    timeout: float = Field(gt=0, le=30 * 86400)
    """The number of seconds that one call may take."""
    files: tuple[Annotated[InsidePath, AfterValidator(_with_placeholders)], ...] = Field(
        min_length=1
    )
    """The logs that it writes: files or folders of any kind that `reproaudit import` reads."""
    folder: InsidePath = "."
    """The folder of the source in which it is called, and which `files` start from."""
    fixed: dict[Name, SettingValue] = Field(default_factory=dict)
    """Settings that are built into the code, with their values: other values are refused."""
    spelled: dict[Name, dict[str, str | None]] = Field(default_factory=dict)
    """Setting -> its value -> the text that the command takes instead; null for no argument."""
    variables: dict[_Variable, str] = Field(default_factory=dict)
    """Environment variables of the command, beside the few that every command has."""
    mapping: dict[Name, Annotated[LoggedQuantity, BeforeValidator(_tagged)]] = Field(
        default_factory=dict
    )
    """Measurement -> the tag or expression that gives it; without an entry, the tag of its name."""
    step: Annotated[str, Field(min_length=1)] | None = None
    """The column or tag that counts the steps, where it is not the usual one."""
    complete: Annotated[str, Field(min_length=1)] | None = None
    """Why curves with gaps are known to be all that was logged."""

    @model_validator(mode="after")
    def _left_out_alone(self) -> CommandExperiment:
        absent = {name for name, words in self.spelled.items() if None in words.values()}
        for text in (*self.command, *self.files):
            named = absent & set(placeholders(text))
            if named and (text in self.files or text != f"{{{min(named)}}}"):
                raise ValueError(
                    f"found {{{min(named)}}} within '{text[:60]}', and a value of it that is "
                    "spelled null; expected an argument that is this placeholder alone"
                )
        return self


class RunFile(StrictModel):
    """A file ``<slug>.run.yaml``."""

    schema_version: Annotated[Literal[1], OneComplaint("1")]
    """1, the version of this file's form."""
    source: PinnedSource
    """The origin of the code, pinned."""
    environment: PythonEnvironment = Field(default_factory=PythonEnvironment)
    """The environment in which the command runs."""
    experiments: dict[Name, CommandExperiment] = Field(min_length=1)
    """Experiment of the audit -> how it is run."""
