"""Without the extra ``run``, what trains nothing works, and ``run`` says what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys

class Absent:
    names = {"torch", "torchvision", "numba", "llvmlite", "sklearn", "threadpoolctl", "jaxtyping"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from reproaudit.cli import run_command

store = ["--store", sys.argv[1]]
print(run_command(["check"]), run_command(["list", *store]), file=sys.stderr)
print(run_command(["run", "ahn2023", "--tier", "smoke", *store]), file=sys.stderr)
"""


def test_a_light_installation_checks_and_lists_and_names_what_run_needs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False
    )
    *_, light, missing, code = done.stderr.strip().splitlines()
    assert light == "0 0"
    assert missing.endswith("Install the extra, in a clone of reproaudit: pip install '.[run]'.")
    assert code == "2"
