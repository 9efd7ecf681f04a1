"""The worked example of docs/import.md, from somebody's logs to a verdict, as it is printed."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from reproaudit.audit.loading import load_audit
from reproaudit.cli import run_command
from reproaudit.intake.reading import read_submission
from reproaudit.logs.mapping import FUNCTIONS, MappingFile
from reproaudit.scorecard.answers import scorecard_of_submission

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "import.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def train(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
    runpy.run_path(str(DOCS / "import" / "train.py"), run_name="__main__")


def test_the_page_shows_what_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("docs").symlink_to(DOCS)
    loop = re.findall(r"train\.py --seed \$seed (.*) --out logs/(\w+)-seed_\$seed|"
                      r"train\.py --seed \$seed --out logs/(\w+)-seed_\$seed", PAGE)  # fmt: skip
    assert len(loop) == 3
    for options, name, plain in loop:
        for seed in range(5):
            out = f"logs/{name or plain}-seed_{seed}"
            train(monkeypatch, "--seed", str(seed), *options.split(), "--out", out)
    shown = next(block for block in blocks("console") if "reproaudit import" in block)
    command, _, printed = shown.partition("\n")
    assert run_command(command.removeprefix("$ reproaudit ").split()) == 0
    out_lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert out_lines == [line.rstrip() for line in printed.splitlines()]
    audit = load_audit(DOCS / "tutorial" / "soudry2018.yaml")
    card = scorecard_of_submission(read_submission(audit, Path("imported")))
    assert [claim.outcome for claim in card.claims] == ["supported", "supported"]
    said = re.search(r"the cosine is\s+(\S+) where at least", PAGE)
    assert said is not None
    assert card.claims[0].base.estimates[0].median == pytest.approx(float(said.group(1)), abs=5e-5)


def test_the_mapping_on_the_page_is_the_file() -> None:
    assert blocks("yaml")[0] == (DOCS / "import" / "mapping.yaml").read_text()


@pytest.mark.parametrize("name", [*MappingFile.model_fields, *FUNCTIONS])
def test_the_page_names_every_field_and_function(name: str) -> None:
    assert re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", PAGE)
