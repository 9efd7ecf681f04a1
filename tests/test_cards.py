"""Cards are read in both shapes; what cannot be read is named; drafts hold no guess and no harm."""

import contextlib
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from reproaudit.audit.card import MAX_CARD_BYTES, Card, read_card
from reproaudit.audit.draft import draft_audit
from reproaudit.audit.loading import read_audit
from reproaudit.audit.model import VariableName
from reproaudit.cli import run_command
from reproaudit.errors import CardError
from reproaudit.service import new as new_command

pytestmark = pytest.mark.usefixtures("measured_here")

CARDS = Path(__file__).parent / "cards"
TODAY = date(2026, 11, 20)
LEFT_OPEN = {"RA058", "RA153"}


def card_of(folder: Path, text: str) -> Card:
    path = folder / "card.txt"
    path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    return read_card(path)


@pytest.mark.parametrize(
    ("file", "title", "authors", "venue", "results"),
    [
        (
            "lines.txt",
            "Counting Sheep with Recurrent Networks",
            ("Ada Example", "Bo Sample-Test", "Carl D. Placeholder Jr.", "Dee O'Proof"),
            ("TESTCONF", 2031),
            "Experimental Collaboration Yes No Yes No No No Yes",
        ),
        (
            "table.md",
            'Sheep: a "theory" of {counting}, #1',
            ("Ada Example",),
            ("TESTCONF", 2032),
            "Theoretical Academia No No No No Yes No No",
        ),
    ],
)
def test_both_shapes_are_read_whole(file, title, authors, venue, results):
    card = read_card(CARDS / file)
    assert (card.title, card.authors, (card.venue, card.year)) == (title, authors, venue)
    assert card.rows == dict(zip(VariableName, results.split(), strict=True))
    assert card.remarks == ()


def test_an_abstract_alone():
    card = read_card(CARDS / "abstract.txt")
    assert (card.title, card.venue, card.year) == ("On the Number of Sheep", "TESTCONF", 2033)
    assert (card.authors, card.rows) == ((), {})
    assert [remark.split(": ")[1] for remark in card.remarks] == ["authors", "title", *VariableName]


def test_what_cannot_be_read_is_named_and_left_open():
    card = read_card(CARDS / "gaps.txt")
    assert (card.title, card.authors, card.venue, card.year) == ("Sheep, again", (), None, None)
    assert {remark.removeprefix("card: ") for remark in card.remarks} == {
        "title: read from the first of 3 lines",
        "authors: found no line 'Authors: …' with names",
        "venue: found no line such as 'ICLR 2025 | …'",
        "Research Type: found 'Philosophical' on line 6; expected Experimental or Theoretical",
        "Researcher Affiliation: found no row",
        "Open Source Code: found 'Perhaps' on line 8; expected Yes or No",
        "Open Datasets: found 'Yes' on line 9, 'No' on line 11; expected Yes or No",
        "Dataset Splits: found '' on line 10; expected Yes or No",
        "Experiment Setup: found no row",
    }
    read = {name: result for name, result in card.rows.items() if result is not None}
    assert read == {
        VariableName.PSEUDOCODE: "Yes",
        VariableName.HARDWARE_SPECIFICATION: "No",
        VariableName.SOFTWARE_DEPENDENCIES: "No",
    }


@pytest.mark.parametrize(
    ("line", "venue"),
    [
        ("ICLR 2025", ("ICLR", 2025)),
        ("ICLR2025", ("ICLR", 2025)),
        ("NeurIPS 2024 | Venue PDF", ("NeurIPS", 2024)),
        ("Journal of Sheep 1999 | Conference PDF | Plain Text", ("Journal of Sheep", 1999)),
        ("A survey of sheep until 2018", None),
        ("ICLR 1825", None),
        ("2018", None),
    ],
)
def test_only_a_venue_is_read_as_one(tmp_path, line, venue):
    card = card_of(tmp_path, f"A Title\nAuthors: A. Bee\n{line}\nPseudocode No None.")
    assert (card.venue, card.year) == (venue if venue is not None else (None, None))


# --- hostile and broken cards -------------------------------------------------------------------


def assert_only_open(text: str, file: str = "p.yaml") -> None:
    """A draft's every fault is something left open."""
    audit, faults = read_audit(file, text)
    assert audit is None
    assert {fault.rule for fault in faults} == LEFT_OPEN, "\n".join(map(str, faults))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "an empty file"),
        (b"A title\x1b[31m\nPseudocode No None", "found the control character U+001B"),
        ("A title \u202e\nPseudocode No None".encode(), "U+202E"),
        (b"\xff\xfeP\x00s\x00", "the byte 0xff"),
        (b"Just a sentence.", "found no row"),
        (b"x" * (50 * 2**20), "expected at most 262,144"),
    ],
    ids=lambda value: value if isinstance(value, str) else "card",
)
def test_what_is_no_card(tmp_path, data, says, cli):
    path = tmp_path / "card.txt"
    path.write_bytes(data)
    error = cli("new", "p", "--card", path, "--out", tmp_path, code=2).err
    assert str(path) in error
    assert says in error
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["card.txt"]


@pytest.mark.parametrize("unit", ["ICLR 2025\n", ", ", "Pseudocode Yes\n", "| "])
def test_a_large_card_takes_no_time(tmp_path, unit):
    text = f"A title\nPseudocode No x\n{unit * (MAX_CARD_BYTES // len(unit) - 10)}"
    for content in (text, unit * (MAX_CARD_BYTES // len(unit))):
        began = time.process_time()
        with contextlib.suppress(CardError):
            card_of(tmp_path, content)
        assert time.process_time() - began < 5


EVIL = 'x"""\nimport os  # \': [}, !!python/object:os.system {a: &b *b} <script>alert(1)</script> %'


def test_a_hostile_title_is_only_text(tmp_path):
    title = " ".join(EVIL.split())
    rows = f"| Pseudocode | {title[:60]} | x |"
    card = card_of(tmp_path, f"{title}\nAuthors: {title}\nICLR 2025\n{rows}")
    text = draft_audit("p", card, TODAY)
    assert yaml.safe_load(text)["paper"]["title"] == title
    assert_only_open(text)


# --- reproaudit new -----------------------------------------------------------------------------


@pytest.fixture
def new(tmp_path: Path, cli: Any) -> Any:
    """`reproaudit new` from a card."""

    def call(*more: str, slug: str = "sheep2031", card: str = "lines.txt", code: int = 0) -> Any:
        return cli("new", slug, "--card", CARDS / card, "--out", tmp_path, *more, code=code)

    return call


@pytest.mark.parametrize("card", ["lines.txt", "table.md", "abstract.txt", "gaps.txt"])
def test_check_lists_what_a_draft_leaves_open(tmp_path, card, new, cli):
    told = new("--json", card=card).data
    file = tmp_path / "sheep2031.yaml"
    schema = str(file.with_name("schema.json"))
    assert told["files"] == [*(str(file.with_suffix(end)) for end in (".yaml", ".py")), schema]
    faults = cli("check", file, "--json", code=2).data
    assert {fault["rule"] for fault in faults} == LEFT_OPEN
    text = file.read_text()
    assert len(faults) == told["todo"] == todos_of(text)
    lines = text.splitlines()
    assert lines[0] == "# yaml-language-server: $schema=schema.json"
    assert all(lines[fault["line"] - 1][fault["column"] - 1 :].startswith("TODO")
               for fault in faults)  # fmt: skip


def todos_of(text: str) -> int:
    """What is open in a draft, without its comments."""
    return sum(line.count("TODO") for line in text.splitlines() if not line.startswith("#"))


def test_force_does_not_write_through_a_link(tmp_path, new):
    new()
    audit, kept = tmp_path / "sheep2031.yaml", tmp_path / "kept.txt"
    kept.write_text("not an audit")
    audit.unlink()
    audit.symlink_to(kept)
    new("--force")
    assert not audit.is_symlink()
    assert kept.read_text() == "not an audit"


def test_nothing_is_overwritten_without_force(tmp_path, new):
    module = tmp_path / "sheep2031.py"
    module.write_text("# mine")
    assert f"{module} is there already" in new(code=2).err
    assert not module.with_suffix(".yaml").exists()
    assert module.read_text() == "# mine"
    new("--force")
    assert "EXPERIMENTS" in module.read_text()


@pytest.mark.parametrize("slug", ["Sheep", "../evil", "", "a" * 65])
def test_a_slug_is_a_name(tmp_path, slug, new):
    assert "is no slug" in new(slug=slug, code=2).err
    assert list(tmp_path.iterdir()) == []


def test_beside_the_shipped_audits_the_module_goes_to_the_shipped_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(new_command, "shipped_audits", lambda: tmp_path / "audits")
    monkeypatch.setattr(new_command, "PACKAGE_FOLDER", tmp_path / "package")
    monkeypatch.chdir(tmp_path)
    assert run_command(["new", "sheep2031", "--card", str(CARDS / "lines.txt")]) == 0
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("sheep2031.*"))
    names = ("audits/sheep2031.yaml", "package/papers/sheep2031.py")
    assert written == list(map(Path, names))


FILLED = {
    "at_least: TODO": "at_least: 0.5", "from: TODO": "from: paper", "higher: TODO": "higher: true",
    "TODO": "Written by a person.",
}  # fmt: skip


def filled(text: str) -> str:
    head, marker, rest = text.partition("schema_version")
    for old, written in FILLED.items():
        rest = rest.replace(old, written)
    return head + marker + rest


def test_a_draft_runs_once_it_is_filled_in(tmp_path, new, cli):
    new()
    audit, module = tmp_path / "sheep2031.yaml", tmp_path / "sheep2031.py"
    run = ["run", "sheep2031", "--audits", str(tmp_path), "--store", str(tmp_path / "runs")]
    assert "[RA058]" in cli(*run, code=2).err

    audit.write_text(filled(audit.read_text()))
    assert [fault for fault in read_audit(audit)[1] if fault.severity == "error"] == []
    (claim,) = cli(*run, "--json", code=3).data["claims"]
    assert claim["outcome"] == "error"

    other = tmp_path / "filled"
    other.mkdir()
    for path in (audit, module):
        (other / path.name).write_text(path.read_text())
    todo = 'raise NotImplementedError("sheep2031.py is a draft: write measure()")'
    body = 'value = 1 if settings.mechanism == "present" else -1\n' \
           '    return {"outcome": value + seed / 1000}'  # fmt: skip
    (other / module.name).write_text(module.read_text().replace(todo, body))
    run = ["run", "sheep2031", "--audits", str(other), "--store", str(other / "runs"), "--json"]
    (claim,) = cli(*run).data["claims"]
    assert claim["outcome"] == "supported"


def test_a_draft_without_a_card(tmp_path):
    assert run_command(["new", "sheep2031", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "sheep2031.yaml").read_text(encoding="utf-8")
    assert_only_open(text, "sheep2031.yaml")
    data = yaml.safe_load(text)
    assert data["paper"] == {"slug": "sheep2031", "title": "TODO"}
    assert "variables" not in data
