"""Loading tells every fault at once, each with its place, its rule and what to do."""

from __future__ import annotations

import copy
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reproaudit.audit.loading import Fault, load_audit, read_audit, read_text
from reproaudit.audit.loading import tree as tree_module
from reproaudit.audit.loading.models import Complaint, faults_of
from reproaudit.audit.loading.scalars import read_plain
from reproaudit.audit.model import Audit
from reproaudit.audit.rules import RULES, Severity
from reproaudit.errors import SpecError

TOY = Path(__file__).parent / "audits" / "toy.yaml"
TEXT = TOY.read_text(encoding="utf-8")
TODAY = date(2026, 11, 20)


def faults_in(text: str) -> list[Fault]:
    return read_text(text, "toy.yaml", today=TODAY)[1]


BATCH = """        value: 32
        source: assumption
        why: A common size.
        alternatives: [16, 64]
"""


@dataclass(frozen=True)
class Bad:
    """A bad audit: the toy with one edit, and the one fault that it must give.

    The fault stands on the line of `at`, the first line of `new` if empty: searched from the edit
    on, or from the top of the file if it begins with ^.
    """

    id: str
    old: str
    new: str
    rule: str
    says: str
    at: str = ""
    more: int = 0
    """How many faults follow from it that a reviewer cannot see as one."""

    @property
    def text(self) -> str:
        assert self.old in TEXT, f"the toy has no {self.old!r}"
        return TEXT.replace(self.old, self.new, 1)

    @property
    def line(self) -> int:
        start = 0 if self.at.startswith("^") else TEXT.index(self.old)
        marker = self.at.removeprefix("^") or self.new.splitlines()[0]
        return self.text[: self.text.index(marker, start)].count("\n") + 1


SHUFFLED = "settings: {labels: shuffled}"
NORM = """    measurements:
      norm:
        kind: scalar
        unit: "1"
        meaning: Norm of the weights.
"""
HEAT = "{id: heat, kind: matrices, experiment: training, measurements: [matrix]"

YAML_FAULTS = [
    Bad("exponent-without-sign", "value: 0.1", "value: 1.5e3", "RA009", "Write 1.5e+3"),
    Bad("text-like-1e-3-in-a-list", "[16, 64]", "[16, 64, 1e1]", "RA009", "reads as text"),
    Bad("no-for-text", 'card: {result: "No", as_of: 2026-11-01}', "card: {result: No, as_of: 2026-"
        "11-01}", "RA010", "which YAML reads as false; expected text. Quote it: 'No'."),
    Bad("off", "result: Academia", "result: off", "RA010", "expected text"),
    Bad("base-60", "value: 32", "value: 1:30", "RA011", "base 60"),
    Bad("octal", "value: 32", "value: 010", "RA011", "octal"),
    Bad("eight-after-zero", "value: 32", "value: 08", "RA011", "decimal"),
    Bad("hexadecimal", "value: 32", "value: 0x20", "RA011", "hexadecimal"),
    Bad("underscores", "value: 10000", "value: 10_000", "RA011", "underscores"),
    Bad("too-many-digits", "value: 32", f"value: {'9' * 40}", "RA012", "63 bits"),
    Bad("equal-keys", "  year: 2024\n", "  year: 2024\n  year: 2025\n", "RA006", "first on line 9",
        "  year: 2025"),
    Bad("equal-settings", "  steps:\n", "  learning_rate:\n", "RA006", "'learning_rate' a second",
        more=1),
    Bad("anchor", "value: 32", "value: &size 32", "RA007", "anchor &size"),
    Bad("merge-key", "    value: sgd\n", "    <<: {value: sgd}\n    value: sgd\n", "RA007", "<<"),
    Bad("tag", "value: 32", "value: !!int 32", "RA008", "tag"),
    Bad("python-tag", "value: 32", "value: !!python/object:os.system [x]", "RA008", "tag"),
    Bad("second-document", "not_audited:", "---\nnot_audited:", "RA004", "second YAML document"),
    Bad("escaped-control", "value: 32", 'value: "\\e[31m"', "RA002", "control character"),
    Bad("raw-control", "title: Ours", "title: \x1bOurs", "RA002", "U+001B", "Ours is"),
    Bad("tab", "  slug: toy", "\tslug: toy", "RA003", "spaces, not tabs"),
    Bad("colon-in-text", "title: A linear", "title: A: linear", "RA003", "Quote text that holds"),
    Bad("open-quote", 'arxiv: "2401.00001"', 'arxiv: "2401.00001', "RA003", "closing quote",
        'card: {result: "No"'),
    Bad("open-bracket", "[A. Author, B. Author]", "[A. Author, B. Author", "RA003", "bracket",
        "  venue:"),
    Bad("too-deep", "value: 32", f"value: {'[' * 40}1{']' * 40}", "RA013", "nesting"),
]  # fmt: skip

MODEL_FAULTS = [
    Bad("other-file-name", "slug: toy", "slug: toys", "RA014", "expected 'toy'"),
    Bad("unknown-top-field", "not_audited:", "notes: []\nnot_audited:", "RA050", "'notes'"),
    Bad("missing-field", "  venue: Journal of Small Examples\n", "", "RA051",
        "Add 'venue': The conference, journal", "^paper:"),
    Bad("number-for-text", 'arxiv: "2401.00001"', "arxiv: 2401.00001", "RA052",
        "Quote it: '2401.00001'"),
    Bad("part-for-whole", "year: 2024", "year: 2024.5", "RA052", "a whole number"),
    Bad("text-for-list", "authors: [A. Author, B. Author]", "authors: A. Author", "RA052",
        "expected a list"),
    Bad("nothing-for-value", "value: 32", "value:", "RA052", "found nothing"),
    Bad("mapping-for-value", "value: 32", "value: {a: 1}", "RA052",
        "true or false, a number, text, or a list"),
    Bad("nothing-in-a-list", "[16, 64]", "[16, null]", "RA052", "found nothing"),
    Bad("year-too-early", "year: 2024", "year: 24", "RA053", "at least 1900"),
    Bad("empty-text", "statement: Two experiments are described.", 'statement: ""', "RA053",
        "empty text"),
    Bad("unknown-variable", "name: Pseudocode", "name: Pseudo Code", "RA054", "'Pseudocode'"),
    Bad("unknown-law", "law: logarithm", "law: log", "RA054", "one of logarithm, power"),
    Bad("unknown-version", "schema_version: 2", "schema_version: 9", "RA067", "expected 2"),
    Bad("bad-arxiv", '"2401.00001"', '"hep-th/9901001"', "RA055", "arXiv identifier"),
    Bad("no-such-day", "as_of: 2026-11-01}", "as_of: 2026-02-30}", "RA056", "YYYY-MM-DD",
        "as_of: 2026-02-30"),
    Bad("number-for-date", "as_of: 2026-11-01}", "as_of: 20261101}", "RA056", "YYYY-MM-DD",
        "as_of: 20261101"),
    Bad("no-authors", "[A. Author, B. Author]", "[]", "RA057", "at least 1 entry"),
]  # fmt: skip

DRAFT_FAULTS = [
    Bad("undated", "as_of: 2026-11-02\n    settings", "as_of: TBD\n    settings", "RA058",
        "a date, YYYY-MM-DD", "as_of: TBD"),
    Bad("year-unknown", "year: 2024", "year: TODO ask", "RA058", "'TODO ask'"),
]  # fmt: skip

RULE_FAULTS = [
    Bad(
        "coordinates-written-alike",
        "{name: row, size: 2}",
        '{name: row, values: [0, "0"]}',
        "RA123",
        "found the coordinate '0' again",
    ),
    Bad(
        "shared-measurement",
        "    title: Read the",
        "    measures: [los]\n    title: Read the",
        "RA130",
        "the unknown measurement 'los'",
    ),
    Bad("nothing-measured", NORM, "", "RA131", "no measurement of 'reading'", "^  reading:"),
    Bad(
        "stage-without-a-length",
        "    title: Read the",
        "    stages:\n    - {name: I, about: all, steps: stepz}\n    title: Read the",
        "RA132",
        "unknown setting 'stepz'",
        "steps: stepz",
    ),
    Bad("claim-id-twice", "- id: toy.beats-ridge", "- id: toy.direction", "RA115", "second claim"),
    Bad(
        "claim-id-prefix",
        "- id: toy.beats-ridge",
        "- id: other.beats-ridge",
        "RA115",
        "begins with 'toy.'",
    ),
    Bad(
        "axis-of-two-sources",
        "{name: model, values: [ours, ridge]}",
        "{name: model, values: [ours, ridge], size: 2}",
        "RA121",
        "values and size",
    ),
    Bad(
        "axis-of-no-setting",
        "{name: layer, setting: layers}, {name: row",
        "{name: layer, setting: layer}, {name: row",
        "RA122",
        "Did you mean 'layers'?",
    ),
    Bad(
        "axis-of-a-number",
        "{name: layer, setting: layers}, {name: row",
        "{name: layer, setting: steps}, {name: row",
        "RA122",
        "a list of coordinates",
    ),
    Bad(
        "coordinate-twice",
        "values: [ours, ridge]",
        "values: [ours, ridge, ours]",
        "RA123",
        "'ours' again",
    ),
    Bad(
        "axis-twice",
        "{name: column, size: 2}",
        "{name: column, size: 2}, {name: row, size: 2}",
        "RA123",
        "second axis 'row'",
        "{name: column, size: 2}, {",
        more=1,
    ),
    Bad(
        "scalar-with-axis",
        'kind: scalar\n        unit: "1"\n        meaning: Norm',
        'kind: scalar\n        axes: [{name: layer, size: 2}]\n        unit: "1"\n'
        "        meaning: Norm",
        "RA124",
        "on the scalar 'norm'",
        "axes: [{name: layer, size: 2}",
    ),
    Bad("figure-twice", "id: heat", "id: losses", "RA125", "second figure 'losses'"),
    Bad("figure-experiment", HEAT, HEAT.replace("training", "trining"), "RA126", "'training'"),
    Bad("figure-measurement", HEAT, HEAT.replace("[matrix]", "[matrx]"), "RA127", "'matrix'"),
    Bad("curves-of-an-array", "[loss, weight]", "[loss, matrix]", "RA128", "expected a series"),
    Bad("matrices-of-a-row", HEAT, HEAT.replace("[matrix]", "[errors]"), "RA128", "rows, columns"),
    Bad(
        "comparison-axis",
        "    axis: model",
        "    axis: mode",
        "RA128",
        "Did you mean 'model'?",
        "^measurements: [errors]",
    ),
    Bad(
        "comparison-without-axis",
        "    axis: model\n",
        "",
        "RA129",
        "without 'axis'",
        "^- id: models",
    ),
    Bad(
        "curves-with-axis",
        "title: Falling}",
        "title: Falling, axis: layer}",
        "RA129",
        "only a comparison",
    ),
    Bad("alternative-of-other-type", "[16, 64]", "[16, large]", "RA141", "a whole number"),
    Bad("truth-is-no-number", "[16, 64]", "[16, true]", "RA141", "found true"),
    Bad("alternative-is-value", "[16, 64]", "[16, 32]", "RA142", "found 32 again"),
    Bad("alternative-twice", "[16, 64]", "[16, 64, 16]", "RA142", "found 16 again"),
    Bad(
        "alternative-nearly-value",
        BATCH,
        BATCH.replace("32", "6400000").replace("64]", "64, 6400001]"),
        "RA142",
        "found 6400001 beside 6400000",
        "alternatives: [16, 64, 6400001]",
    ),
    Bad(
        "no-contradiction",
        "{value: 0.05, source",
        "{value: 0.1, source",
        "RA142",
        "the value of 'learning_rate' itself",
    ),
    Bad(
        "override-is-value",
        "quick: {value: 500,",
        "quick: {value: 10000,",
        "RA143",
        "the larger tier has too",
    ),
    Bad("smoke-is-quick", "smoke: {value: 5,", "smoke: {value: 500,", "RA143", "larger tier"),
    Bad(
        "variable-twice",
        "- name: Hardware Specification",
        "- name: Pseudocode",
        "RA151",
        "'Pseudocode' a second time",
        more=1,
    ),
    Bad(
        "finding-dotted",
        "settings: [learning_rate]",
        "settings: [learning_rate, training.btch]",
        "RA162",
        "Did you mean 'training.batch'?",
    ),
    Bad(
        "finding-of-another",
        "settings: [learning_rate]",
        "settings: [learning_rate, a.b.c]",
        "RA055",
        "or 'experiment.setting'",
    ),
    Bad("finding-prefix", "id: toy.rate-differs", "id: card.rate-differs", "RA161", "'toy.'"),
    Bad(
        "finding-setting",
        "settings: [learning_rate]",
        "settings: [learning_rate, step]",
        "RA162",
        "Did you mean 'steps'?",
    ),
    Bad("no-signed-exponent", "within: 0.05", "within: 5e-2", "RA009", "Write 5.0e-2"),
    Bad("infinite", "by: 1.1", "by: .inf", "RA012", "finite number"),
    Bad(
        "misspelt-field",
        "    locator: Figure 1",
        "    locater: Figure 1",
        "RA050",
        "Did you mean 'locator'?",
    ),
    Bad("unknown-field-in-check", "by: 1.1", "bye: 1.1", "RA050", "a field of Beats"),
    Bad(
        "missing-in-claim",
        "    short: every layer learns the direction\n",
        "",
        "RA051",
        "no 'short'",
        "^- id: toy.direction",
    ),
    Bad(
        "short-too-long",
        "short: every layer learns the direction",
        "short: every layer learns the direction that was claimed in the first theorem",
        "RA066",
        "at most 10",
        "^- id: toy.direction",
    ),
    Bad("unknown-check", "kind: aligns", "kind: algins", "RA054", "Did you mean 'aligns'?"),
    Bad(
        "no-why",
        "    why: The text speaks of gradient descent.\n",
        "",
        "RA060",
        "needs 'why'",
        "^  optimizer:",
    ),
    Bad(
        "no-alternatives",
        "    alternatives: [adam, momentum]\n",
        "",
        "RA060",
        "'alternatives'",
        "^  optimizer:",
    ),
    Bad("no-locator", "    locator: Figure 2\n", "", "RA061", "'locator'", "^  layers:"),
    Bad(
        "half-a-form",
        "distance: distance, at_most: 0.1",
        "at_most: 0.1",
        "RA062",
        "either 'distance' and 'at_most'",
    ),
    Bad("no-provenance", "at_most: 0.1, from: paper}", "at_most: 0.1}", "RA063", "'from'"),
    Bad(
        "ours-without-why",
        ", from: ours, why: As in Figure 2.}",
        ", from: ours}",
        "RA063",
        "needs 'why'",
    ),
    Bad(
        "claim-experiment",
        "experiment: training\n    headline:\n      - {kind: beats",
        "experiment: trainin\n    headline:\n      - {kind: beats",
        "RA101",
        "Did you mean 'training'?",
    ),
    Bad("measurement", "loss: loss\n", "loss: los\n", "RA102", "Did you mean 'loss'?"),
    Bad("coordinate-off-values", "errors[ridge]", "errors[lasso]", "RA103", "lasso"),
    Bad("converges-scalar", "loss: loss\n", "loss: accuracy\n", "RA105", "expected a series"),
    Bad(
        "arm-of-nothing",
        "nulls: [shuffled]\n    constructed",
        "nulls: [shuffeld]\n    constructed",
        "RA107",
        "Did you mean 'shuffled'?",
    ),
    Bad(
        "null-setting",
        "settings: {labels: shuffled, steps: 400}",
        "settings: {label: shuffled, steps: 400}",
        "RA108",
        "Did you mean 'labels'?",
    ),
    Bad(
        "arm-like-claim",
        "settings: {labels: shuffled, steps: 400}",
        "settings: {labels: true_ones}",
        "RA108",
        "own values",
    ),
    Bad(
        "no-null",
        "    nulls: [shuffled]\n    constructed: solved\n",
        "    constructed: solved\n",
        "RA212",
        "no null of 'toy.direction'",
        "^    headline:\n      - {kind: aligns",
    ),
    Bad(
        "grade-of-no-axis",
        "    nulls: [shuffled]\n    constructed: solved",
        "    grade: {axis: lair, symbol: L, easiest_first: [1, 2], primary: [1]}\n    nulls: [shuffled]\n    constructed: solved",
        "RA110",
        "Did you mean 'layer'?",
        "    grade:",
    ),
    Bad(
        "idle-arm",
        "arms:\n",
        "arms:\n  idle:\n    settings: {labels: other}\n    why: Not used.\n",
        "RA213",
        "idle",
        "  idle:",
    ),
    Bad("no-main-claim", "    main: true\n", "", "RA211", "no main claim", "^claims:"),
    Bad(
        "readings-of-an-unsourced-value",
        "    nulls: [shuffled]\n    constructed: solved",
        "    readings: [optimizer]\n    nulls: [shuffled]\n    constructed: solved",
        "RA214",
        "'optimizer'",
        "    readings:",
    ),
    Bad("unfinished", "why: As in Figure 2.", "why: TODO look up", "RA153", "'TODO'"),
    Bad("blank", "why: As in Figure 2.", 'why: "  "', "RA155", "blank"),
    Bad(
        "finding-claim",
        "changes: [toy.loss-falls]",
        "changes: [toy.loss-fall]",
        "RA163",
        "Did you mean 'toy.loss-falls'?",
    ),
    Bad(
        "read-of-nothing",
        "why: Trains as well, without anything to learn.\n\nnot",
        "why: Trains.\n        reads: {loss: lass}\n\nnot",
        "RA109",
        "Did you mean 'loss'?",
        "        reads:",
    ),
    Bad(
        "alternatives-of-a-stated-value",
        "    quick: {value: [1, 2], reason",
        "    alternatives: [[1, 2]]\n    quick: {value: [1, 2], reason",
        "RA216",
        "'paper' states",
        "    alternatives:",
    ),
    Bad("long-about", "runs: {quick", "about: TODO\nruns: {quick", "RA153", "'TODO'"),
    Bad(
        "number-as-name",
        "  optimizer:\n",
        "  7:\n",
        "RA015",
        "the name '7'",
        "  7:",
        more=1,
    ),
    Bad(
        "reason-of-a-word",
        "why: Half of the fall in Figure 1.",
        "why: Half.",
        "RA215",
        "'Half.'",
        "^- kind: converges",
    ),
    Bad(
        "no-quantity",
        "distance: distance,",
        'distance: "dis tance",',
        "RA059",
        "a measurement's name",
    ),
    Bad(
        "onset-of-several",
        'earlier: {series: "weight[1]"',
        "earlier: {series: weight",
        "RA106",
        "layer",
    ),
]

ALL = [*YAML_FAULTS, *MODEL_FAULTS, *DRAFT_FAULTS, *RULE_FAULTS]


def write(folder: Path, text: str | bytes, name: str = "toy.yaml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_toy_is_an_audit_without_faults() -> None:
    audit, faults = read_audit(TOY, today=TODAY)
    assert faults == []
    assert audit == load_audit(TOY, today=TODAY)
    assert audit is not None
    assert audit.settings["layers"].value == (1, 2, 3)


def test_toy_has_every_kind_of_check_but_one() -> None:
    definitions = Audit.model_json_schema()["$defs"]
    kinds = {
        one["properties"]["kind"].get("const")
        for one in definitions.values()
        if "kind" in one.get("properties", {})
    } - {None}
    claims = load_audit(TOY, today=TODAY).claims
    used = {one.kind for c in claims for one in (*c.headline, *c.support, *c.notes)}
    assert kinds - used == {"separates"}


@pytest.mark.parametrize("bad", ALL, ids=[bad.id for bad in ALL])
def test_bad_audit(bad: Bad) -> None:
    audit, faults = read_text(bad.text, "toy.yaml", today=TODAY)
    said = "\n".join(map(str, faults))
    hits = [f for f in faults if f.rule == bad.rule and bad.says in str(f)]
    assert [f.place.line for f in hits] == [bad.line], said
    assert len(faults) == 1 + bad.more, said
    assert (audit is None) == (RULES[bad.rule].severity is Severity.ERROR)


def test_table_covers_every_rule() -> None:
    tested = {bad.rule for bad in ALL}
    by_hand = {"RA001", "RA005", "RA016", "RA017"}  # below, and in test_rules
    by_hand |= {f"RA08{number}" for number in range(1, 9)}  # in repositories/test_run_files
    by_hand |= {"RA156", "RA165", "RA171", "RA172", "RA173"}  # in test_reviews
    by_hand |= {"RA020", "RA021"}  # in test_module_fit and test_results
    assert set(RULES) - tested == by_hand
    assert len({bad.id for bad in ALL}) == len(ALL) >= 60


def test_fault_is_one_line_with_place_path_and_rule() -> None:
    (fault,) = faults_in(TEXT.replace("kind: aligns", "kind: algins"))
    assert str(fault) == (
        "toy.yaml:169:16: claims[1].headline[0].kind: found the kind 'algins'; expected one of "
        "aligns, beats, concentrates, converges, equals, follows, grows_like, reaches, "
        "scales_like, separates, stages. Did you mean 'aligns'? [RA054]"
    )


def test_every_fault_is_told_at_once_in_the_order_of_the_file() -> None:
    edits = [bad for bad in ALL if bad.id in {
        "no-signed-exponent", "misspelt-field", "missing-in-claim", "axis-of-no-setting",
        "future", "alternative-is-value", "control-setting", "figure-measurement", "no-such-day",
    }]  # fmt: skip
    text = TEXT
    for bad in edits:
        assert bad.old in text
        text = text.replace(bad.old, bad.new, 1)
    faults = faults_in(text)
    assert sorted(f.rule for f in faults) == sorted(bad.rule for bad in edits)
    assert [f.place for f in faults] == sorted(f.place for f in faults)


def test_positions_in_a_list_are_those_of_the_file() -> None:
    """What is cut out of a list moves nothing that is reported later."""
    text = TEXT.replace("    short: the loss falls and settles\n", "").replace(
        "errors[ridge]", "errors[lasso]"
    )
    assert [f.path for f in faults_in(text)] == [
        "claims[0]",
        "claims[2].headline[0].upper",
    ]


def test_what_cannot_be_read_is_not_called_missing() -> None:
    text = TEXT.replace("    short: the loss falls and settles\n", "").replace(
        "name: Pseudocode", "name: Pseudo Code"
    )
    assert [f.rule for f in faults_in(text)] == ["RA054", "RA051"]


def test_without_the_paper_the_rest_is_still_looked_at() -> None:
    start, end = TEXT.index("paper:"), TEXT.index("variables:")
    text = TEXT[:start] + TEXT[end:].replace("by: 1.1", "by: 0.5").replace("16, 64", "16, 32")
    assert [f.rule for f in faults_in(text)] == ["RA051", "RA142", "RA053"]


def test_load_audit_raises_all_faults_together(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT.replace("year: 2024", "year: 24").replace("by: 1.1", "by: x"))
    with pytest.raises(SpecError) as caught:
        load_audit(path, today=TODAY)
    lines = str(caught.value).splitlines()
    assert [line.startswith(f"{path}:") for line in lines] == [True, True]
    assert caught.value.exit_code == 2


def test_warnings_do_not_refuse(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT.replace("As in Figure 2.", "TBD"))
    audit, faults = read_audit(path, today=TODAY)
    assert audit is not None
    assert [f.severity for f in faults] == [Severity.WARNING]
    assert ": warning: " in str(faults[0])


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
        (b"a: 1\n" * 300_000, "RA001", "expected at most 1,048,576"),
    ],
)
def test_what_is_no_audit_at_all(tmp_path: Path, data: bytes, rule: str, says: str) -> None:
    audit, faults = read_audit(write(tmp_path, data), today=TODAY)
    assert audit is None
    assert [f.rule for f in faults] == [rule]
    assert says in faults[0].message


def test_place_of_a_bad_byte(tmp_path: Path) -> None:
    (fault,) = read_audit(write(tmp_path, "title: ü\nname: ä".encode() + b"\xff"))[1]
    assert fault.place == (2, 8)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path, Path("a\0b")):
        audit, faults = read_audit(path)
        assert audit is None
        assert [f.rule for f in faults] == ["RA001"]


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert read_audit(path, today=TODAY) == read_audit(TOY, today=TODAY)


def test_aliases_are_never_expanded(tmp_path: Path) -> None:
    """Nine levels of nine aliases each would be 387 million values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    rules = {f.rule for f in faults_in("\n".join(lines))}
    assert "RA007" in rules


def test_both_parsers_agree_on_places_and_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [TEXT, *(bad.text for bad in ALL if bad.rule != "RA003")]
    fast = [faults_in(text) for text in texts]
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert [faults_in(text) for text in texts[:40]] == fast[:40]


@pytest.mark.parametrize("bad", [bad for bad in ALL if bad.rule == "RA003"], ids=lambda b: b.id)
def test_parser_in_python_explains_syntax_too(bad: Bad, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    (fault,) = faults_in(bad.text)
    assert fault.rule == "RA003"
    assert fault.remedy != RULES["RA003"].remedy


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
    assert (read, type(read), doubt) == (value, type(value), None)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("1e-3", 1e-3), ("1E5", 1e5), ("-2e+4", -2e4), ("1.5e3", 1.5e3), (".5e3", 500.0),
     ("0x20", 32), ("010", 8), ("1_000", 1000), ("1:30", 90), ("1:30.5", 90.5), ("yes", True),
     ("OFF", False)],
)  # fmt: skip
def test_plain_scalars_in_doubt_are_read_as_meant(text: str, meant: object) -> None:
    read, doubt = read_plain(text)
    assert (read, type(read)) == (meant, type(meant))
    assert doubt is not None


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from("eE"))
def test_advice_about_exponents_is_right(number: float, e: str) -> None:
    """What the remedy says to write is read as that number, without doubt."""
    text = f"{number:.6e}".replace(".", "").replace("e", e)
    value, doubt = read_plain(text)
    if doubt is None or doubt.remedy is None:
        assert doubt is not None
        assert doubt.rule == "RA012"
        return
    advised = doubt.remedy.removeprefix("Write ").split(",")[0]
    assert read_plain(advised) == (value, None)


# --- nothing raises ------------------------------------------------------------------------------

MANY = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class WithoutAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def dump(tree: object) -> str:
    """YAML text of a tree; without aliases, since a replaced node may stand twice."""
    return str(yaml.dump(tree, Dumper=WithoutAliases, allow_unicode=True, sort_keys=False))


def check_never_raises(text: str) -> None:
    audit, faults = read_text(text, "toy.yaml", today=TODAY)
    errors = [f for f in faults if f.severity is Severity.ERROR]
    assert (audit is None) == bool(errors)
    lines = text.count("\n") + 1
    for fault in faults:
        assert fault.rule in RULES
        assert 1 <= fault.place.line <= lines + 1
        assert "\n" not in str(fault)
        assert str(fault).endswith(f"[{fault.rule}]")


@MANY
@given(st.text())
def test_any_text(text: str) -> None:
    check_never_raises(text)


@MANY
@given(st.binary())
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path, data)
    with pytest.raises(SpecError):
        load_audit(path, today=TODAY)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from([*Audit.model_fields, "kind", "checks", "value", "controls"])
        | st.text(max_size=3) | st.integers(),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@MANY
@given(st.dictionaries(st.sampled_from([*Audit.model_fields]), PLAIN, min_size=1))
def test_any_tree(tree: object) -> None:
    check_never_raises(dump(tree))


TREE = yaml.safe_load(TEXT)


def places_in(tree: object, loc: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    steps = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    return [loc, *(p for key, one in steps for p in places_in(one, (*loc, key)))]


PLACES = places_in(TREE)[1:]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_replacement_in_the_toy(data: st.DataObject) -> None:
    """One node of the toy is replaced by anything, or by another node of it."""
    tree = copy.deepcopy(TREE)
    for loc in data.draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3)):
        parent = tree
        for step in loc[:-1]:
            try:
                parent = parent[step]
            except (KeyError, IndexError, TypeError):
                break
        else:
            value = data.draw(PLAIN | st.sampled_from([5, 0, -1, "training", [], {}, True, "x"]))
            if isinstance(parent, dict) or (
                isinstance(parent, list) and isinstance(loc[-1], int) and loc[-1] < len(parent)
            ):
                parent[loc[-1]] = value
    check_never_raises(dump(tree))


@settings(max_examples=150, deadline=None)
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


def test_depth_limit_is_the_documented_one() -> None:
    deepest = tree_module.MAX_DEPTH - 1  # beside the mapping that holds it
    shallow = faults_in(f"a: {'[' * deepest}{']' * deepest}")
    deep = faults_in(f"a: {'[' * (deepest + 1)}{']' * (deepest + 1)}")
    assert "RA013" not in {f.rule for f in shallow}
    assert "RA013" in {f.rule for f in deep}


def test_loading_imports_no_torch() -> None:
    code = (
        "import reproaudit.audit.loading, reproaudit.audit.rules, reproaudit.audit.schema, sys; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_a_complaint_of_a_kind_never_met_is_still_told() -> None:
    """A later pydantic may refuse for reasons that have no words here yet."""
    root = tree_module.TreeBuilder("toy.yaml").build(TEXT)
    assert root is not None
    loc = ("paper", "year")
    node = tree_module.node_at(root, loc)
    assert node is not None
    new = Complaint(loc, node, "never_met", "", False, {}, "Input is odd")
    (fault,) = faults_of([new], root, "toy.yaml")
    assert (fault.rule, fault.place.line) == ("RA059", 9)
    assert "found 2024; expected something else: Input is odd" in fault.message
