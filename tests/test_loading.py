"""Loading tells every fault at once, each with its place, its rule and what to do."""

import re
from pathlib import Path

import pytest
import yaml

from reproaudit.audit.document import read_plain
from reproaudit.audit.faults import REMEDIES, Fault
from reproaudit.audit.loading import load_audit, read_audit
from reproaudit.checks import Kind

TOY = Path(__file__).parent / "audits" / "toy.yaml"
TEXT = TOY.read_text(encoding="utf-8")

BAD = {
    edit["id"]: edit
    for edit in yaml.safe_load((Path(__file__).parent / "golden" / "faults.yaml").read_text())
}
"""Edits of the toy by name: what is replaced, by what, and every fault that it must give."""


def edited(*names: str) -> str:
    text = TEXT
    for name in names:
        assert BAD[name]["old"] in text, f"the toy has no {BAD[name]['old']!r}"
        text = text.replace(BAD[name]["old"], BAD[name]["new"], 1)
    return text


def faults_in(text: str) -> list[Fault]:
    return read_audit("toy.yaml", text)[1]


def write(folder: Path, text: str | bytes, name: str = "toy.yaml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_toy_is_an_audit_without_faults():
    audit, faults = read_audit(TOY)
    assert faults == []
    assert audit == load_audit(TOY)
    assert audit is not None
    assert audit.settings["layers"].value == (1, 2, 3)


@pytest.mark.parametrize("name", BAD)
def test_bad_audit(name):
    audit, faults = read_audit("toy.yaml", edited(name))
    assert [str(fault).removeprefix("toy.yaml:") for fault in faults] == BAD[name]["faults"]
    errors = [fault for fault in faults if fault.severity == "error"]
    assert (audit is None) == bool(errors)


def test_table_covers_every_rule():
    tested = {line[-6:-1] for edit in BAD.values() for line in edit["faults"]}
    by_hand = {"RA001", "RA005", "RA017"}  # below, and in test_limits
    by_hand |= {
        *(f"RA08{number}" for number in range(1, 10)),
        "RA235",
    }  # in repositories/test_run_files
    by_hand |= {"RA173"}  # in test_reviews
    by_hand |= {"RA020", "RA021"}  # in test_module_fit and test_results
    by_hand |= {f"RA24{number}" for number in range(5)}  # in test_short_form
    assert set(REMEDIES) - tested == by_hand


@pytest.mark.parametrize(
    "upper", ["over: {model: mean}", "over: {model: least}, without: {model: [ours]}"]
)
def test_a_comparison_with_an_average_or_the_others_is_sound(upper):
    text = TEXT.replace('upper: "errors[ridge]"', f"upper: {{measurement: errors, {upper}}}")
    assert text != TEXT
    assert faults_in(text) == []


def test_every_fault_is_told_at_once_in_the_order_of_the_file():
    """What the notation, the models and a TODO show; rules across values wait for the models."""
    text = edited("no-signed-exponent", "misspelt-field", "no-such-day", "unfinished", "no-why")
    faults = faults_in(text)
    assert sorted(f.rule for f in faults) == ["RA050", "RA053", "RA059", "RA153", "RA227"]
    assert [f.place for f in faults] == sorted(f.place for f in faults)
    rules = edited("axis-of-no-setting", "alternative-is-value")
    assert sorted(f.rule for f in faults_in(rules)) == ["RA224", "RA225"]


@pytest.mark.parametrize(
    ("data", "rule", "says"),
    [
        (b"", "RA005", "empty file"),
        (b"# only a comment\n", "RA005", "empty file"),
        (b"---\n", "RA005", "empty file"),
        (b"- a\n", "RA005", "no mapping"),
        (b"text\n", "RA005", "no mapping"),
        (b"a: \xff\n", "RA002", "0xff"),
        (b"\xff\xfea\x00", "RA002", "0xff"),
        (b"a: \x00\n", "RA002", "U+0000"),
        ("a: \u2028".encode(), "RA002", "U+2028"),
        (b"a: 1\n", "RA051", "no 'schema_version'"),
        (b"a: 1\n" * 300_000, "RA001", "expected at most 1,048,576"),
    ],
)
def test_what_is_no_audit_at_all(tmp_path, data, rule, says):
    audit, faults = read_audit(write(tmp_path, data))
    assert audit is None
    assert [f.rule for f in faults] == [rule]
    assert says in faults[0].message


def test_missing_file_and_folder(tmp_path):
    for path in (tmp_path / "none.yaml", tmp_path, Path("a\0b")):
        audit, faults = read_audit(path)
        assert audit is None
        assert [f.rule for f in faults] == ["RA001"]


def test_byte_order_mark_and_windows_line_ends(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert read_audit(path) == read_audit(TOY)


def test_both_parsers_agree_on_places_and_rules(monkeypatch):
    broken = [name for name in BAD if "[RA003]" in BAD[name]["faults"][0]]
    texts = [TEXT, *(edited(name) for name in list(BAD)[:40] if name not in broken)]
    fast = [faults_in(text) for text in texts]
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert [faults_in(text) for text in texts] == fast
    for name in broken:  # the two word these, and place some, in ways of their own
        (fault,) = faults_in(edited(name))
        assert fault.rule == "RA003"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-3", -3), ("+2", 2), ("0", 0), ("1.5", 1.5), ("1.0e-3", 1e-3), ("1.", 1.0),
        (".5", 0.5), ("6.02e+23", 6.02e23), ("true", True), ("false", False), ("null", None),
        ("~", None), ("", None), ("2026-11-20", "2026-11-20"), ("2001-12-14t21:59:43.10-05:00",
        "2001-12-14t21:59:43.10-05:00"), ("a", "a"), ("e3", "e3"), ("v1e3", "v1e3"), ("=", "="),
        ("y", "y"), ("n", "n"), ("1.2.3", "1.2.3"),
    ],
)  # fmt: skip
def test_plain_scalars_without_doubt(text, value):
    read, doubt = read_plain(text)
    assert (read, type(read), doubt) == (value, type(value), "")


# --- nothing raises ------------------------------------------------------------------------------


def check_never_raises(text: str, name: str = "toy.yaml") -> None:
    """Whatever a text is, each of its faults has a rule and a place within it, in one line."""
    audit, faults = read_audit(name, text)
    errors = [f for f in faults if f.severity == "error"]
    assert (audit is None) == bool(errors)
    lines = len(re.split("\r\n|[\r\n\x85\u2028\u2029]", text))  # what YAML takes for a line's end
    for fault in faults:
        assert fault.rule in REMEDIES
        assert 1 <= fault.place.line <= lines + 1
        assert "\n" not in str(fault)
        assert str(fault).endswith(f"[{fault.rule}]")


@pytest.mark.parametrize(
    "unit", ["[", "{", "- ", "{a: ", "? ", "[a: ", '"', "a:\n ", "&a ", "!!s "]
)
def test_deep_nesting_never_exhausts_the_stack(unit):
    check_never_raises(unit * 3000)


def test_every_kind_of_check_is_in_the_toy_but_one():
    claims = load_audit(TOY).claims
    used = {type(check) for c in claims for check in (*c.headline, *c.support, *c.notes)}
    named = {kind for kind in Kind.__subclasses__() if "kind" in kind.model_fields}
    assert {kind.__name__ for kind in named - used} <= {"Separates"}
