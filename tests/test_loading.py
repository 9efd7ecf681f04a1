"""Loading tells every fault at once, each with its place, its rule and what to do."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reproaudit.audit.document import read_plain
from reproaudit.audit.faults import REMEDIES, Fault
from reproaudit.audit.loading import load_audit, read_audit
from reproaudit.audit.model import Audit
from reproaudit.checks import Kind
from reproaudit.errors import SpecError

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


def test_toy_is_an_audit_without_faults() -> None:
    audit, faults = read_audit(TOY)
    assert faults == []
    assert audit == load_audit(TOY)
    assert audit is not None
    assert audit.settings["layers"].value == (1, 2, 3)


@pytest.mark.parametrize("name", BAD)
def test_bad_audit(name: str) -> None:
    audit, faults = read_audit("toy.yaml", edited(name))
    assert [str(fault).removeprefix("toy.yaml:") for fault in faults] == BAD[name]["faults"]
    errors = [fault for fault in faults if fault.severity == "error"]
    assert (audit is None) == bool(errors)


def test_table_covers_every_rule() -> None:
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
def test_a_comparison_with_an_average_or_the_others_is_sound(upper: str) -> None:
    text = TEXT.replace('upper: "errors[ridge]"', f"upper: {{measurement: errors, {upper}}}")
    assert text != TEXT
    assert faults_in(text) == []


def test_every_fault_is_told_at_once_in_the_order_of_the_file() -> None:
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
def test_what_is_no_audit_at_all(tmp_path: Path, data: bytes, rule: str, says: str) -> None:
    audit, faults = read_audit(write(tmp_path, data))
    assert audit is None
    assert [f.rule for f in faults] == [rule]
    assert says in faults[0].message


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path, Path("a\0b")):
        audit, faults = read_audit(path)
        assert audit is None
        assert [f.rule for f in faults] == ["RA001"]


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert read_audit(path) == read_audit(TOY)


def test_both_parsers_agree_on_places_and_rules(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_plain_scalars_without_doubt(text: str, value: object) -> None:
    read, doubt = read_plain(text)
    assert (read, type(read), doubt) == (value, type(value), "")


# --- nothing raises ------------------------------------------------------------------------------

MANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


class WithoutAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def dump(tree: object) -> str:
    """YAML text of a tree; without aliases, since a replaced node may stand twice."""
    return str(yaml.dump(tree, Dumper=WithoutAliases, allow_unicode=True, sort_keys=False))


def check_never_raises(text: str) -> None:
    audit, faults = read_audit("toy.yaml", text)
    errors = [f for f in faults if f.severity == "error"]
    assert (audit is None) == bool(errors)
    lines = len(re.split("\r\n|[\r\n\x85\u2028\u2029]", text))  # what YAML takes for a line's end
    for fault in faults:
        assert fault.rule in REMEDIES
        assert 1 <= fault.place.line <= lines + 1
        assert "\n" not in str(fault)
        assert str(fault).endswith(f"[{fault.rule}]")


@MANY
@given(st.text())
def test_any_text(text: str) -> None:
    check_never_raises(text)
    check_never_raises(f"schema_version: 2\n{text}")


@MANY
@given(st.binary())
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path, data)
    with pytest.raises(SpecError):
        load_audit(path)


FIELDS = [*Audit.model_fields, "kind", "headline", "value", "nulls", "from", "with", "at", "arm"]
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS) | st.text(max_size=3) | st.integers(), inner, max_size=4
        )
    ),
    max_leaves=12,
)


TREE = yaml.safe_load(TEXT)


def places_in(tree: object, loc: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    below = dict(enumerate(tree)) if isinstance(tree, list) else tree
    steps = below.items() if isinstance(below, dict) else ()
    return [loc, *(p for key, node in steps for p in places_in(node, (*loc, key)))]


PLACES = places_in(TREE)[1:]
WORDS = [5, 0, -1, 0.5, "training", "reading", "loss", "weight", "weight[1]", "errors", "layers",
         "shuffled", "own", "steps", "layer", [], {}, [1, 2], True, "x"]  # fmt: skip


@given(st.data())
def test_any_replacement_in_the_toy(data: st.DataObject) -> None:
    """One to three nodes of the toy are replaced by anything, or by a word that others use."""
    tree = copy.deepcopy(TREE)
    for loc in data.draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3)):
        parent = tree
        try:
            for step in loc[:-1]:
                parent = parent[step]
            parent[loc[-1]]
        except (KeyError, IndexError, TypeError):
            continue
        if isinstance(parent, dict | list):
            parent[loc[-1]] = data.draw(st.sampled_from(WORDS) | PLAIN)
    check_never_raises(dump(tree))


@given(
    st.integers(0, len(TEXT)),
    st.integers(0, 40),
    st.text(max_size=5) | st.sampled_from(["- ", ": ", "[", "}", "&a ", "*a", "\t", "\n", "!!x "]),
)
def test_any_edit_of_the_toy(start: int, length: int, text: str) -> None:
    check_never_raises(TEXT[:start] + text + TEXT[start + length :])


@pytest.mark.parametrize(
    "unit", ["[", "{", "- ", "{a: ", "? ", "[a: ", '"', "a:\n ", "&a ", "!!s "]
)
def test_deep_nesting_never_exhausts_the_stack(unit: str) -> None:
    check_never_raises(unit * 3000)


def test_every_kind_of_check_is_in_the_toy_but_one() -> None:
    claims = load_audit(TOY).claims
    used = {type(check) for c in claims for check in (*c.headline, *c.support, *c.notes)}
    named = {kind for kind in Kind.__subclasses__() if "kind" in kind.model_fields}
    assert {kind.__name__ for kind in named - used} <= {"Separates"}
