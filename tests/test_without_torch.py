"""Without the extra `run` all that trains nothing works, and says so where something is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

from miniatures import ENVIRONMENT

SHORT = Path(__file__).parent / "short" / "maxrl2026.yaml"

BLOCKED = """
import sys
from importlib import metadata

from reproaudit.errors import OF_THE_EXTRA_RUN

PACKAGES = {"scikit-learn", "llvmlite", *OF_THE_EXTRA_RUN}


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in OF_THE_EXTRA_RUN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def version(name, installed=metadata.version):
    if name in PACKAGES:
        raise metadata.PackageNotFoundError(name)
    return installed(name)


sys.meta_path.insert(0, Blocked())
metadata.version = version

from reproaudit.cli import run_command

for line in sys.stdin.read().splitlines():
    print("code", run_command(line.split("\\t")), line.split("\\t")[0], file=sys.stderr)
assert not OF_THE_EXTRA_RUN & set(sys.modules)
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("results") / "results.csv"
    rows = [
        f"{seed},{arm},{end + seed / 1000}"
        for arm, end in (("maxrl", 0.42), ("reinforce", 0.33), ("checkpoint", 0.4))
        for seed in range(5)
    ]
    file.write_text("\n".join(["seed,arm,pass_8", *rows]) + "\n", encoding="utf-8")
    return file


def test_all_that_trains_nothing_works_without_the_extra(tmp_path, results):
    audits = tmp_path / "audits"
    audits.mkdir()
    (audits / "maxrl2026.yaml").write_text(SHORT.read_text(encoding="utf-8"), encoding="utf-8")
    known = ["--audits", str(audits)]
    measured = str(tmp_path / "measured")
    commands = [
        ["check", str(audits / "maxrl2026.yaml")],
        ["plan", "maxrl2026", *known],
        ["judge", "maxrl2026", str(results), *known, "--as-page", str(tmp_path / "page.md")],
        ["import", "maxrl2026", str(results), "--out", measured, *known],
        ["judge", "maxrl2026", "--measurements", measured, *known],
        ["report", "yang2025", "--out", str(tmp_path / "reports")],
        ["list"],
        ["new", "doe2026", "--out", str(audits)],
        ["review", "maxrl2026", "--reviewer", "A. Reader", "--sign-off", *known],
        ["skill"],
        ["schema", "beats"],
        ["run", "yang2025", "--tier", "smoke", "--store", str(tmp_path / "runs")],
    ]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED],
        input="\n".join(map("\t".join, commands)),
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stderr.splitlines()
    codes = [line for line in lines if line.startswith("code ")]
    assert codes == [f"code {2 * (words[0] == 'run')} {words[0]}" for words in commands], (
        done.stderr
    )
    assert done.returncode == 0, done.stderr
    (needs,) = (line for line in lines if "pip install" in line)
    assert needs.startswith("torch is not installed, and running experiments needs it.")
    assert needs.endswith("Install the extra, in a clone of reproaudit: pip install '.[run]'.")
    assert "5 of 5 [pass8]" in " ".join(done.stdout.split())
