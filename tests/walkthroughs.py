"""Runs the commands of a page of the manual, and holds what they print against what it shows."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from miniatures import SOURCES
from test_pytest_plugin import BLOCKED

DOCS = Path(__file__).parents[1] / "docs"
LEFT_OUT = "…"


def blocks(page: str, language: str) -> list[str]:
    """The blocks of a page in one language."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def commands(page: str) -> Iterator[tuple[str, list[str]]]:
    """Every command of a page, without the lines that continue a loop, and the lines it shows."""
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            yield command, [line.rstrip() for line in shown if line != LEFT_OUT]


def run_page(
    page: str,
    folder: Path,
    environment: Mapping[str, str],
    comparable: Callable[[str], str] = str.rstrip,
) -> list[tuple[str, int, str]]:
    """Runs a page's commands in a folder; every line that it shows must be printed, in its order.

    Args:
        page: the page's name in the manual.
        folder: where the commands run.
        environment: in what; see `light_environment`.
        comparable: what of a line must be the same.

    Returns:
        Each command with its exit code and what it printed; installing is left out.
    """
    ran = []
    for command, shown in commands(page):
        if command.startswith("pip install"):
            continue
        code, printed = bash(command, folder, environment)
        lines = iter([comparable(line) for line in printed.splitlines()])
        for line in shown:
            assert comparable(line) in lines, f"{command}: {line!r} not in:\n{printed}"
        ran.append((command, code, printed))
    return ran


def light_environment(folder: Path) -> dict[str, str]:
    """An environment in which nothing can import torch; `reproaudit` and `pytest` are on PATH."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BLOCKED)
    python = shlex.quote(sys.executable)
    plugin = "-p reproaudit.pytest_plugin"
    programs = {
        "python": f'exec {python} "$@"',
        "reproaudit": f'exec {python} -m reproaudit "$@"',
        "pytest": f'exec {python} -m pytest -p no:cacheprovider "$@"',
    }
    for name, line in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
        "PATH": os.pathsep.join([str(folder), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(SOURCES), str(folder)]),
        "PYTEST_ADDOPTS": plugin,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # plugins of others take seconds to import
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "80",
    }


def bash(script: str, folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Runs a script as GitHub runs a composite action's step with `shell: bash`."""
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout
