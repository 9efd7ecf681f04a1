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

from reproaudit.audit.disputes import version_of
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


def said(field: str, *fields: str) -> tuple[str, str]:
    """An edit of the toy that adds a reviewer's word before its figures."""
    who = () if any("reviewer" in one for one in fields[1:]) else ("reviewer: R1",)
    entry = ", ".join((*fields, *who, "as_of: 2026-11-01"))
    return "\nfigures:\n", f"\n{field}:\n  - {{{entry}}}\n\nfigures:\n"


VERSION = version_of(load_audit(TOY, today=TODAY))
LOSS = "        loss: {measurement: loss}\n"
ROW = "{layer: 1, row: 0, column: 1}"
RATE = "        settings: {learning_rate: 0.0}\n        why: Beside"
FIRST_CONTROL = """      - experiment: training
        settings: {labels: shuffled}
        why: Trains as well, without anything to learn.
        name: shuffled
        scale: same
"""
SHUFFLED = "settings: {labels: shuffled}"
DIRECTION_CONTROL = f"{SHUFFLED}\n        why: Trains as well, without a direction"
MOVEMENT = TEXT[TEXT.index("movement:\n") : TEXT.index("claims:\n")]
ABLATION = "        ablation: shuffled\n"
LAST_CONTROL = "settings: {labels: shuffled, steps: 400}"
POSITIVE = "settings: {optimizer: closed_form}"
NORM = """    measurements:
      norm:
        kind: scalar
        unit: "1"
        meaning: Norm of the weights.
"""
HEAT = "{id: heat, kind: matrices, experiment: training, measurements: [matrix]"

YAML_FAULTS = [
    Bad("no-signed-exponent", "margin: 0.05", "margin: 5e-2", "RA009", "Write 5.0e-2"),
    Bad("exponent-without-sign", "value: 0.1", "value: 1.5e3", "RA009", "Write 1.5e+3"),
    Bad("text-like-1e-3-in-a-list", "[16, 64]", "[16, 64, 1e1]", "RA009", "reads as text"),
    Bad("yes", "value: true_ones", "value: yes", "RA010", "Write true, or 'yes' in quotes"),
    Bad("no-for-text", 'card: {result: "No", as_of: 2026-11-01}', "card: {result: No, as_of: 2026-"
        "11-01}", "RA010", "which YAML reads as false; expected text. Quote it: 'No'."),
    Bad("off", "result: Academia", "result: off", "RA010", "expected text"),
    Bad("capital-true", "of_the_rest: true", "of_the_rest: True", "RA010", "Write true"),
    Bad("truth-as-name", "  optimizer:\n", "  on:\n", "RA010", "the name on", "  on:", more=1),
    Bad("base-60", "value: 32", "value: 1:30", "RA011", "base 60"),
    Bad("octal", "value: 32", "value: 010", "RA011", "octal"),
    Bad("eight-after-zero", "value: 32", "value: 08", "RA011", "decimal"),
    Bad("hexadecimal", "value: 32", "value: 0x20", "RA011", "hexadecimal"),
    Bad("underscores", "value: 10000", "value: 10_000", "RA011", "underscores"),
    Bad("infinite", "by: 1.5", "by: .inf", "RA012", "finite number"),
    Bad("undefined", "by: 1.5", "by: .nan", "RA012", "finite number"),
    Bad("too-large", "by: 1.5", "by: 1.0e+999", "RA012", "infinite"),
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
    Bad("number-as-name", "  optimizer:\n", "  7:\n", "RA015", "the name '7'", "  7:", more=1),
    Bad("list-as-name", "  optimizer:\n", "  [a]:\n", "RA015", "list or mapping as a name", "  [a]",
        more=1),
]  # fmt: skip

MODEL_FAULTS = [
    Bad("other-file-name", "slug: toy", "slug: toys", "RA014", "expected 'toy'"),
    Bad("unknown-field", "weight: 1.0", "wieght: 1.0\n    weight: 1.0", "RA050", "'weight'"),
    Bad("misspelt-field", "    locator: Figure 1", "    locater: Figure 1", "RA050",
        "Did you mean 'locator'?"),
    Bad("unknown-field-in-check", "        by: 1.5", "        bye: 2\n        by: 1.5", "RA050",
        "a field of OrderedOnsets"),
    Bad("unknown-top-field", "not_audited:", "notes: []\nnot_audited:", "RA050", "'notes'"),
    Bad("missing-field", "  venue: Journal of Small Examples\n", "", "RA051",
        "Add 'venue': The conference, journal", "^paper:"),
    Bad("missing-in-claim", "    weight: 0.5\n", "", "RA051", "no 'weight'",
        "^- id: toy.direction"),
    Bad("missing-in-check", "        falls_by: 10.0\n", "", "RA051", "no 'falls_by'",
        "^- name: loss"),
    Bad("no-kind", "        kind: aligns\n", "", "RA051", "one of aligns, concentrates",
        "^- name: direction"),
    Bad("no-value", "    value: sgd\n", "", "RA051", "no 'value'", "^  optimizer:"),
    Bad("number-for-text", 'arxiv: "2401.00001"', "arxiv: 2401.00001", "RA052",
        "Quote it: '2401.00001'"),
    Bad("text-for-number", "weight: 0.5", "weight: half", "RA052", "expected a number"),
    Bad("part-for-whole", "year: 2024", "year: 2024.5", "RA052", "a whole number"),
    Bad("text-for-list", "authors: [A. Author, B. Author]", "authors: A. Author", "RA052",
        "expected a list"),
    Bad("text-for-mapping", LOSS, "        loss: loss\n", "RA052", "a mapping of fields"),
    Bad("nothing-for-value", "value: 32", "value:", "RA052", "found nothing"),
    Bad("mapping-for-value", "value: 32", "value: {a: 1}", "RA052",
        "true or false, a number, text, or a list"),
    Bad("nothing-in-a-list", "[16, 64]", "[16, null]", "RA052", "found nothing"),
    Bad("truth-for-coordinate", "{model: ours}", "{model: true}", "RA052", "a number or text"),
    Bad("text-for-control", "      not_constructible: The noise of the test set stays.",
        "      none", "RA118", "or not_constructible with the reason"),
    Bad("weight-too-large", "weight: 0.5", "weight: 1.5", "RA053", "at most 1"),
    Bad("tolerance-negative", "margin: 0.05", "margin: -0.05", "RA053", "above 0"),
    Bad("year-too-early", "year: 2024", "year: 24", "RA053", "at least 1900"),
    Bad("empty-text", "statement: Two experiments are described.", 'statement: ""', "RA053",
        "empty text"),
    Bad("unknown-source", "source: assumption", "source: asumption", "RA054",
        "Did you mean 'assumption'?"),
    Bad("unknown-check", "kind: aligns", "kind: algins", "RA054", "Did you mean 'aligns'?"),
    Bad("unknown-variable", "name: Pseudocode", "name: Pseudo Code", "RA054", "'Pseudocode'"),
    Bad("unknown-law", "law: logarithm", "law: log", "RA054", "one of logarithm, power"),
    Bad("unknown-version", "schema_version: 1", "schema_version: 2", "RA054", "expected 1"),
    Bad("bad-slug", "toy.loss-falls\n    statement", "Toy loss falls\n    statement", "RA055",
        "joined by hyphens", "^id: Toy", more=2),
    Bad("bad-setting-name", "  optimizer:\n", "  Optimizer:\n", "RA055", "joined by underscores",
        more=1),
    Bad("bad-arxiv", '"2401.00001"', '"hep-th/9901001"', "RA055", "arXiv identifier"),
    Bad("no-such-day", "as_of: 2026-11-01}", "as_of: 2026-02-30}", "RA056", "YYYY-MM-DD",
        "as_of: 2026-02-30"),
    Bad("number-for-date", "as_of: 2026-11-01}", "as_of: 20261101}", "RA056", "YYYY-MM-DD",
        "as_of: 20261101"),
    Bad("no-authors", "[A. Author, B. Author]", "[]", "RA057", "at least 1 entry"),
    Bad("no-why", "    why: The text speaks of gradient descent.\n", "", "RA060", "needs 'why'",
        "^  optimizer:"),
    Bad("no-alternatives", "    alternatives: [adam, momentum]\n", "", "RA060", "'alternatives'",
        "^  optimizer:"),
    Bad("no-locator", "    locator: Figure 2\n", "", "RA061", "'locator'", "^  layers:"),
    Bad("half-a-form", "        at_most: 0.1\n", "", "RA062", "a distance and at_most",
        "^- name: direction"),
    Bad("no-target", "        target: 0.5\n", "", "RA062", "a target or a reference",
        "^- name: entry"),
    Bad("dispute-of-two-things", *said("disputes", "claim: toy.direction, tolerance: direction, "
        "control: 1", "reason: Not so"), "RA059", "or 'control', or neither", "  - {claim"),
    Bad("dispute-of-a-part-of-nothing", *said("disputes", "control: 1", "reason: Not so"), "RA059",
        "either 'claim' or 'source'", "  - {control"),
    Bad("no-reason", "        reason: A tenth of the distance at the start.\n", "", "RA063",
        "no 'reason'", "^- name: direction"),
    Bad("effect-out-of-order", "low: -0.6", "low: -0.3", "RA059", "between 'low' and 'high'",
        "^- claim: toy.loss-falls\n        setting"),
    Bad("effect-of-no-kind", "found: matters", "found: untested", "RA054", "decisive, matters"),
    Bad("response-without-author", "    by: A. Author\n", "", "RA051", "no 'by'",
        "^- to: toy.direction"),
    Bad("too-few-seeds", "quick: [0, 1, 2, 3, 4]", "quick: [0, 1]", "RA064", "at least 5"),
    Bad("no-controls", "    controls:\n      - experiment: training\n        settings: "
        "{labels: shuffled}\n        why: Trains as well, without a direction in the labels.\n"
        "        scale: same\n",
        "", "RA065", "no 'controls'", "^- id: toy.direction"),
    Bad("no-positive-control", "    positive_control:\n      not_constructible: The noise of the "
        "test set stays.\n", "", "RA065", "no 'positive_control'", "^- id: toy.beats-ridge"),
]  # fmt: skip

DRAFT_FAULTS = [
    Bad("undecided", "decision: disagree", "decision: TODO", "RA058", "one of agree, disagree"),
    Bad("unmeasured", "margin: 0.05", "margin: TODO", "RA058", "expected a number"),
    Bad("undated", "as_of: 2026-11-02\n    settings", "as_of: TBD\n    settings", "RA058",
        "a date, YYYY-MM-DD", "as_of: TBD"),
    Bad("year-unknown", "year: 2024", "year: TODO ask", "RA058", "'TODO ask'"),
]  # fmt: skip

RULE_FAULTS = [
    Bad("claim-experiment", "weight: 0.5\n    experiment: training",
        "weight: 0.5\n    experiment: trainin", "RA101", "Did you mean 'training'?",
        "experiment: trainin"),
    Bad("control-experiment", "- experiment: training\n        settings: {labels: shuffled, ",
        "- experiment: nowhere\n        settings: {labels: shuffled, ", "RA101", "'nowhere'"),
    Bad("measurement", LOSS, "        loss: {measurement: los}\n", "RA102",
        "the experiment 'training' has no such measurement. Did you mean 'loss'?"),
    Bad("axis-without-coordinate", ROW, "{layer: 1, row: 0}", "RA103", "on axis 'column'"),
    Bad("coordinate-without-axis", "quantity: {measurement: accuracy}",
        "quantity: {measurement: accuracy, at: {layer: 1}}", "RA103", "an axis of 'accuracy'"),
    Bad("coordinate-off-values", "{model: ridge}", "{model: lasso}", "RA104", "['ours', 'ridge']"),
    Bad("coordinate-off-size", ROW, "{layer: 1, row: 2, column: 1}", "RA104", "[0, 1]"),
    Bad("coordinate-lost-at-quick", ROW, "{layer: 3, row: 0, column: 1}", "RA104",
        "at the quick tier"),
    Bad("each-no-axis", "each: layer\n        among: [1, 2]", "each: model", "RA105",
        "no such axis"),
    Bad("each-also-fixed", "distance: {measurement: distance}",
        "distance: {measurement: distance, at: {layer: 1}}", "RA105", "found layer fixed"),
    Bad("converges-scalar", LOSS, "        loss: {measurement: accuracy}\n", "RA106",
        "'converges' looks at its course"),
    Bad("first-of-a-scalar", "quantity: {measurement: accuracy}",
        "quantity: {measurement: accuracy, step: first}", "RA106", "no steps"),
    Bad("level-off-scale", "at_least: 0.95", "at_least: 1.5", "RA108", "below 1"),
    Bad("floor-of-a-half", "at_least: 0.95", "floor: 0.5\n        at_least: 0.95", "RA199",
        "found 0.5; expected a number below 0.5"),
    Bad("linear-without-range", "        range: [-1, 1]\n", "", "RA191",
        "Add 'range: [least, largest]' to the declaration of 'matrix'", "- name: entry of"),
    Bad("linear-of-positive", "range: [-1, 1]", "range: [0, null]", "RA191",
        "'matrix', whose range has one end alone; expected two", "- name: entry of"),
    Bad("linear-of-one-end-below-zero", "range: [-1, 1]", "range: [-1, null]", "RA191",
        "'matrix', whose range has one end alone", "- name: entry of"),
    Bad("linear-of-a-wide-range", "range: [-1, 1]", "range: [-1, 1.0e+9]", "RA191",
        "ends more than 1,000 times as far from 0 as the level", "- name: entry of"),
    Bad("linear-of-a-range-without-end", "range: [-1, 1]", "range: [0, 1.0e+9]", "RA191",
        "ends more than 1,000 times as far from 0 as the level", "- name: entry of"),
    Bad("sizes-off-axis", "axis: width", "axis: widht", "RA192", "Did you mean 'width'?", more=1),
    Bad("two-sizes", "values: [8, 16, 32]", "values: [8, 16]", "RA192", "at least 3 positive",
        "axis: width"),
    Bad("sizes-nearly-alike", "values: [8, 16, 32]", "values: [8, 9, 32]", "RA192",
        "each 1.25 times the one before or more", "axis: width"),
    Bad("beside-itself", "at: {model: ridge}", "at: {model: ours}", "RA200",
        "found 'errors' as 'lower' and as 'upper' of 'error'"),
    Bad("course-from-its-first-step", "quantity: {measurement: loss}",
        "quantity: {measurement: loss, step: first}", "RA203", "reads every step"),
    Bad("movement-in-seconds", """        kind: scalar
        unit: "1"
        meaning: Change of the training""", """        kind: scalar
        unit: s
        meaning: Change of the training""", "RA204", "found 'training_loss_moved' in 's'",
        "  training_loss: training_loss_moved"),
    Bad("each-of-nothing", """setting: layers}]
        unit: "1"
        meaning: Distance""", """values: []}]
        unit: "1"
        meaning: Distance""", "RA205", "found no layer at the quick tier", "each: layer", more=2),
    Bad("coordinates-written-alike", "{name: row, size: 2}", '{name: row, values: [0, "0"]}',
        "RA123", "found the coordinate '0' again"),
    Bad("size-of-zero", "values: [8, 16, 32]", "values: [0, 8, 16]", "RA192",
        "found width [0, 8, 16] at the quick tier", "axis: width"),
    Bad("size-fixed", "{measurement: by_width}", "{measurement: by_width, at: {width: 8}}",
        "RA192", "found width fixed", "axis: width"),
    Bad("rate-of-few-runs", ", 19]", "]", "RA193",
        "found 19 seeds; expected at least 20", "^  paper: [0"),
    Bad("rate-out-of-reach", "rate_at_most: 0.2", "rate_at_most: 0.1", "RA193",
        "expected at least 36", "^  paper: [0"),
    Bad("range-turned", "range: [-1, 1]", "range: [1, -1]", "RA194", "[1, -1]; expected a range"),
    Bad("range-of-one", "range: [-1, 1]", "range: [1]", "RA057", "at least 2", more=1),
    Bad("two-curves", "curve: [[0", "reference: {measurement: loss}\n        curve: [[0", "RA062",
        "either a reference, which is measured, or a curve", "^      - name: course"),
    Bad("among-off-axis", "among: [1, 2]", "among: [1, 9]", "RA109", "found layer 9"),
    Bad("among-without-each", "        each: layer\n        among: [1, 2]\n        distance: "
        "{measurement: distance}", "        among: [1, 2]\n        distance: {measurement: "
        "distance, at: {layer: 1}}", "RA109", "'among' without 'each'"),
    Bad("control-setting", LAST_CONTROL, "settings: {label: shuffled, steps: 400}", "RA110",
        "Did you mean 'labels'?"),
    Bad("positive-control-setting", POSITIVE, "settings: {optimiser: closed_form}", "RA110",
        "Did you mean 'optimizer'?"),
    Bad("control-like-claim", LAST_CONTROL, "settings: {labels: true_ones, steps: 400}", "RA111",
        "the claim's own 'labels'"),
    Bad("control-like-claim-at-quick", LAST_CONTROL, "settings: {steps: 500}", "RA111",
        "at the quick tier"),
    Bad("only-without-training", FIRST_CONTROL, "", "RA112", "a control that trains",
        "settings: {learning_rate: 0.0}", more=2),
    Bad("control-without-measurement", "- experiment: training\n        settings: {labels: "
        "shuffled, steps: 400}", "- experiment: reading\n        settings: {labels: shuffled, "
        "steps: 400}", "RA113", "no 'errors'", more=5),
    Bad("control-drops-coordinate", LAST_CONTROL, "settings: {labels: shuffled, layers: [2]}",
        "RA114", "leaves out layer 1"),
    Bad("control-name", "controls:\n" + FIRST_CONTROL, "controls:\n      - shuffled\n", "RA118",
        "Declare it under the audit's own 'controls'", "- shuffled"),
    Bad("ablation-of-no-control", ABLATION, ABLATION.replace("shuffled", "shuffeld"), "RA181",
        "the name of a control"),
    Bad("control-name-twice", FIRST_CONTROL, FIRST_CONTROL + FIRST_CONTROL.replace(
        "labels: shuffled", "labels: swapped"), "RA182", "another control of the claim",
        "name: shuffled\n        scale: same\n      - experiment: training\n        settings: "
        "{learning_rate: 0.0}"),
    Bad("unnamed-ablation", ABLATION, "", "RA185", "2 controls and no 'ablation'",
        "^- name: loss"),
    Bad("ablation-misses-unknown", "settles_within: 1.05\n", "settles_within: 1.05\n        "
        "ablation_misses: [fals]\n", "RA187", "expected one of", "ablation_misses: [fals]"),
    Bad("existence-that-trains", "    experiment: training\n    checks:\n      - name: loss\n",
        "    experiment: training\n    trains: false\n    checks:\n      - name: loss\n", "RA188",
        "experiment 'training' trains", "trains: false", more=2),
    Bad("smaller-control", "        scale_reason: The loss of shuffled labels has settled by 400 "
        "steps.\n", "", "RA186", "steps 400 at the paper tier",
        "^- experiment: training\n        settings: {labels: shuffled, steps: 400}"),
    Bad("movement-of-no-number", "parameters: parameters_moved", "parameters: weight", "RA183",
        "which is no number", "parameters: weight"),
    Bad("movement-unknown", "parameters: parameters_moved", "parameters: parameter_moved", "RA183",
        "the unknown measurement", "parameters: parameter_moved", more=4),
    Bad("no-movement", MOVEMENT, "", "RA184", "expected 'movement'", "^claims:"),
    Bad("shared-control-unused", "claims:\n  - id", "controls:\n  idle: {settings: {labels: "
        "shuffled}, why: It trains.}\nclaims:\n  - id", "RA119", "no claim names", "idle: {"),
    Bad("shared-measurement", "    title: Read the", "    measures: [los]\n    title: Read the",
        "RA130", "the unknown measurement 'los'"),
    Bad("nothing-measured", NORM, "", "RA131", "no measurement of 'reading'", "^  reading:"),
    Bad("stage-without-a-length", "    title: Read the", "    stages:\n    - {name: I, about: all, "
        "steps: stepz}\n    title: Read the", "RA132", "unknown setting 'stepz'", "steps: stepz"),
    Bad("alternative-lacks-coordinate", "    quick: {value: [1, 2], reason", "    alternatives: "
        "[[2, 3]]\n    quick: {value: [1, 2], reason", "RA146", "without layer 1, which a claim"),
    Bad("claim-id-twice", "- id: toy.beats-ridge", "- id: toy.direction", "RA115",
        "second claim"),
    Bad("claim-id-prefix", "- id: toy.beats-ridge", "- id: other.beats-ridge", "RA115",
        "begins with 'toy.'"),
    Bad("no-main-claim", "weight: 1.0", "weight: 0.9", "RA116", "heavier than 0.9", "^claims:"),
    Bad("next-to-no-weight", "weight: 0.25", "weight: 0.001", "RA116", "at least 0.01"),
    Bad("part-name-twice", "- name: accuracy", "- name: error", "RA117", "second part 'error'"),
    Bad("part-named-as-a-coordinate", "- name: first input", "- name: direction, layer 2", "RA117",
        "second part 'direction, layer 2'"),
    Bad("axis-of-two-sources", "{name: model, values: [ours, ridge]}",
        "{name: model, values: [ours, ridge], size: 2}", "RA121", "values and size"),
    Bad("axis-of-no-setting", "{name: layer, setting: layers}, {name: row",
        "{name: layer, setting: layer}, {name: row", "RA122", "Did you mean 'layers'?"),
    Bad("axis-of-a-number", "{name: layer, setting: layers}, {name: row",
        "{name: layer, setting: steps}, {name: row", "RA122", "a list of coordinates"),
    Bad("coordinate-twice", "values: [ours, ridge]", "values: [ours, ridge, ours]", "RA123",
        "'ours' again"),
    Bad("axis-twice", "{name: column, size: 2}", "{name: column, size: 2}, {name: row, size: 2}",
        "RA123", "second axis 'row'", "{name: column, size: 2}, {", more=1),
    Bad("scalar-with-axis", "kind: scalar\n        unit: \"1\"\n        meaning: Norm",
        "kind: scalar\n        axes: [{name: layer, size: 2}]\n        unit: \"1\"\n"
        "        meaning: Norm", "RA124", "on the scalar 'norm'", "axes: [{name: layer, size: 2}"),
    Bad("figure-twice", "id: heat", "id: losses", "RA125", "second figure 'losses'"),
    Bad("figure-experiment", HEAT, HEAT.replace("training", "trining"), "RA126", "'training'"),
    Bad("figure-measurement", HEAT, HEAT.replace("[matrix]", "[matrx]"), "RA127", "'matrix'"),
    Bad("curves-of-an-array", "[loss, weight]", "[loss, matrix]", "RA128", "expected a series"),
    Bad("matrices-of-a-row", HEAT, HEAT.replace("[matrix]", "[errors]"), "RA128", "rows, columns"),
    Bad("comparison-axis", "    axis: model", "    axis: mode", "RA128", "Did you mean 'model'?",
        "^measurements: [errors]"),
    Bad("comparison-without-axis", "    axis: model\n", "", "RA129", "without 'axis'",
        "^- id: models"),
    Bad("curves-with-axis", "title: Falling}", "title: Falling, axis: layer}", "RA129",
        "only a comparison"),
    Bad("alternative-of-other-type", "[16, 64]", "[16, large]", "RA141", "a whole number"),
    Bad("truth-is-no-number", "[16, 64]", "[16, true]", "RA141", "found true"),
    Bad("override-of-other-type", "{value: [1, 2], reason: The", "{value: 2, reason: The",
        "RA141", "expected a list"),
    Bad("alternative-is-value", "[16, 64]", "[16, 32]", "RA142", "found 32 again"),
    Bad("alternative-twice", "[16, 64]", "[16, 64, 16]", "RA142", "found 16 again"),
    Bad("alternative-nearly-value", BATCH,
        BATCH.replace("32", "6400000").replace("64]", "64, 6400001]"), "RA142",
        "found 6400001 beside 6400000", "alternatives: [16, 64, 6400001]"),
    Bad("no-contradiction", "{value: 0.05, source", "{value: 0.1, source", "RA142",
        "the value of 'learning_rate' itself"),
    Bad("override-is-value", "quick: {value: 500,", "quick: {value: 10000,", "RA143",
        "the larger tier has too"),
    Bad("smoke-is-quick", "smoke: {value: 5,", "smoke: {value: 500,", "RA143", "larger tier"),
    Bad("variable-twice", "- name: Hardware Specification", "- name: Pseudocode", "RA151",
        "'Pseudocode' a second time", more=1),
    Bad("seed-twice", "quick: [0, 1, 2, 3, 4]", "quick: [0, 1, 2, 3, 4, 4]", "RA152", "seed 4"),
    Bad("seed-negative", "smoke: [0]", "smoke: [-1]", "RA152", "0 to 4294967295"),
    Bad("finding-dotted", "settings: [learning_rate]", "settings: [learning_rate, training.btch]",
        "RA162", "Did you mean 'training.batch'?"),
    Bad("finding-of-another", "settings: [learning_rate]", "settings: [learning_rate, a.b.c]",
        "RA055", "or 'experiment.setting'"),
    Bad("effect-dotted", "setting: batch", "setting: training.steps", "RA164", "of the ledger"),
    Bad("unfinished", "reason: Table 1 has 1.3.", "reason: TODO look up", "RA153", "'TODO'"),
    Bad("future", "as_of: 2026-11-02\n    settings", "as_of: 2027-11-02\n    settings", "RA154",
        "lies in the future", "as_of: 2027"),
    Bad("blank", "reason: Table 1 has 1.3.", 'reason: "  "', "RA155", "blank"),
    Bad("finding-prefix", "id: toy.rate-differs", "id: card.rate-differs", "RA161", "'toy.'"),
    Bad("finding-setting", "settings: [learning_rate]", "settings: [learning_rate, step]",
        "RA162", "Did you mean 'steps'?"),
    Bad("finding-claim", "claims: [toy.loss-falls]", "claims: [toy.loss-fall]", "RA163",
        "Did you mean 'toy.loss-falls'?"),
    Bad("reviewer-twice", "reviewer: R2, decision", "reviewer: R1, decision", "RA156",
        "a second decision of 'R1'", "reviewer: R1, decision: agree, reason: An archive"),
    Bad("effect-claim", "- claim: toy.loss-falls", "- claim: toy.loss-fails", "RA164",
        "Did you mean 'toy.loss-falls'?"),
    Bad("effect-setting", "setting: batch", "setting: steps", "RA164",
        "a setting of the ledger"),
    Bad("effect-value", "value: 16\n        found", "value: 8\n        found", "RA164",
        "one of 16, 64", "value: 8"),
    Bad("response-to-nothing", "to: toy.direction", "to: toy.directoin", "RA165",
        "Did you mean 'toy.direction'?"),
    Bad("response-ahead", "run.\n    as_of: 2026-11-01", "run.\n    as_of: 2027-11-01", "RA154",
        "in the future", "as_of: 2027"),
    Bad("dispute-of-nothing", *said("disputes", "claim: toy.directoin", "reason: Not so"), "RA171",
        "Did you mean 'toy.direction'?", "claim: toy.directoin"),
    Bad("dispute-of-no-check", *said("disputes", "claim: toy.direction, tolerance: x",
        "reason: Not so"), "RA171", "the name of a check of toy.direction", "tolerance: x"),
    Bad("dispute-of-no-control", *said("disputes", "claim: toy.direction, control: 9",
        "reason: Not so"), "RA171", "found control 9", "control: 9"),
    Bad("dispute-of-no-setting", *said("disputes", "source: lerning_rate", "reason: Not so"),
        "RA171", "Did you mean 'learning_rate'?", "source: lerning_rate"),
    Bad("signed-by-two-names", *said("sign_offs", f"version: {VERSION}, as_of: 2026-11-01, "
        f"reviewer: R1}}\n  - {{version: {VERSION}"), "RA172", "a second sign-off",
        f"version: {VERSION}, reviewer: R1, as_of: 2026-11-01}}\n\n"),
    Bad("signed-another", *said("sign_offs", f"version: {'a' * 32}"), "RA173",
        "the present version", "a" * 32),
    Bad("signed-undecided", *said("sign_offs", f"version: {VERSION}", "reviewer: R9"), "RA174",
        "no decision of 'R9' on Research Type", "reviewer: R9"),
]  # fmt: skip

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
    assert [type(v) for v in (audit.claims[0].weight, audit.settings["steps"].value)] == [
        float,
        int,
    ]


def test_toy_has_every_kind_of_check() -> None:
    definitions = Audit.model_json_schema()["$defs"]
    kinds = {d["properties"]["kind"].get("const") for d in definitions.values() if "kind" in
             d.get("properties", {})} - {None}  # fmt: skip
    used = {check.kind for claim in load_audit(TOY, today=TODAY).claims for check in claim.checks}
    assert used == kinds


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
    by_hand = {"RA001", "RA005", "RA016", "RA017", "RA107"}  # below, and in test_rules
    by_hand |= {f"RA08{number}" for number in range(1, 9)}  # in repositories/test_run_files
    by_hand |= {"RA020", "RA021"}  # in test_module_fit and test_results
    assert set(RULES) - tested == by_hand
    assert len({bad.id for bad in ALL}) == len(ALL) >= 60


def test_what_is_cut_out_is_searched_for_unfinished_text_too() -> None:
    """A variable without a decision is cut out; its reason is a TODO nevertheless, once."""
    text = TEXT.replace(
        "decision: disagree, reason: The link is dead.", "decision: TODO, reason: TODO"
    )
    text = text.replace("reason: Table 1 has 1.3.", "reason: TODO")
    assert [f.rule for f in faults_in(text)] == ["RA058", "RA153", "RA153"]


def test_fault_is_one_line_with_place_path_and_rule() -> None:
    (fault,) = faults_in(TEXT.replace("kind: aligns", "kind: algins"))
    assert str(fault) == (
        "toy.yaml:209:15: claims[1].checks[0].kind: found the kind 'algins'; expected one of "
        "aligns, concentrates, converges, failure_rate, follows, grows_like, matches, "
        "ordered_onsets, reaches, scales_like, separates. Did you mean 'aligns'? [RA054]"
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
    text = TEXT.replace("    weight: 1.0\n", "").replace("{model: ridge}", "{model: lasso}")
    assert [f.path for f in faults_in(text)] == [
        "claims[0]",
        "claims[2].checks[0].upper.at.model",
    ]


def test_what_cannot_be_read_is_not_called_missing() -> None:
    text = TEXT.replace("    weight: 1.0\n", "").replace("name: Pseudocode", "name: Pseudo Code")
    assert [f.rule for f in faults_in(text)] == ["RA054", "RA051"]


def test_without_paper_and_seeds_the_rest_is_still_looked_at() -> None:
    start, end = TEXT.index("paper:"), TEXT.index("variables:")
    text = TEXT[:start] + TEXT[end:].replace("by: 1.5", "by: 0.5").replace("16, 64", "16, 32")
    assert [f.rule for f in faults_in(text)] == ["RA051", "RA193", "RA142", "RA053"]


def test_load_audit_raises_all_faults_together(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT.replace("weight: 0.5", "weight: 2").replace("by: 1.5", "by: x"))
    with pytest.raises(SpecError) as caught:
        load_audit(path, today=TODAY)
    lines = str(caught.value).splitlines()
    assert [line.startswith(f"{path}:") for line in lines] == [True, True]
    assert caught.value.exit_code == 2


def test_warnings_do_not_refuse(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT.replace("Table 1 has 1.3.", "TBD"))
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
