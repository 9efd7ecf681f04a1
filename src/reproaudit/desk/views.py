"""The contents of the desk's pages, with what each reviewer may see.

Variables are read from the plain data, so that a draft with errors can be reviewed, too; settings,
claims and findings need a valid audit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reproaudit.audit.documentation import UNSCORED, reviewed_yes, score
from reproaudit.audit.draft import TODO
from reproaudit.audit.findings import Finding, Response
from reproaudit.audit.model import Audit, Claim, NoPositiveControl
from reproaudit.audit.settings import Setting, Source
from reproaudit.audit.variables import (
    Classification,
    Review,
    ReviewDecision,
    Variable,
    VariableName,
)
from reproaudit.desk.acts import Disputed
from reproaudit.desk.rule_words import CheckView, check_view
from reproaudit.desk.saving import Version
from reproaudit.desk.session import stamp_of
from reproaudit.reports.numbers import settings_words, value_words
from reproaudit.reports.reviewing import SHARING

QUESTIONS = {
    VariableName.RESEARCH_TYPE: "Is the research of the type that the card says?",
    VariableName.RESEARCHER_AFFILIATION: "Do the authors work where the card says?",
    VariableName.PSEUDOCODE: "Does the paper give its method as pseudocode or an algorithm?",
    VariableName.OPEN_SOURCE_CODE: "Do the authors share their code?",
    VariableName.OPEN_DATASETS: "Are the data public, with a link or a citation?",
    VariableName.DATASET_SPLITS: "Are training, validation and test data told apart?",
    VariableName.HARDWARE_SPECIFICATION: "Is the hardware named?",
    VariableName.SOFTWARE_DEPENDENCIES: "Is the software named, with versions?",
    VariableName.EXPERIMENT_SETUP: "Are the settings of the experiments stated?",
}
"""The question that each variable asks of a paper."""

SOURCES = {
    Source.PAPER: "stated in the paper",
    Source.CARD: "stated on the card",
    Source.AUTHORS_CODE: "from the authors' code",
    Source.REVIEWS: "stated in the paper's reviews",
    Source.DERIVED: "derived from what is stated",
    Source.RECALLED: "recalled without a place",
    Source.ASSUMPTION: "a guess of the auditors",
}
"""The source of a setting's value, in words."""


@dataclass(frozen=True)
class Opinion:
    """The opinion of one reviewer: who, what, why and when."""

    who: str
    what: str
    reason: str
    as_of: str


@dataclass(frozen=True)
class Opinions:
    """The opinions on one thing.

    Attributes:
        own: the reviewer's own word.
        others: the others' words, as far as they may be seen.
        hidden: whether others may have said something that is not shown yet.
    """

    own: Opinion | None
    others: Sequence[Opinion]
    hidden: bool


@dataclass(frozen=True)
class VariableView:
    """One variable: the card's answer, evidence, what follows from each decision."""

    index: int
    name: str
    question: str
    result: str
    read_on: str
    evidence: Sequence[tuple[str, str]]
    words: Opinions
    follows: Mapping[str, str]
    stamp: str

    @property
    def key(self) -> str:
        """The variable's name."""
        return self.name

    @property
    def can_be_needless(self) -> bool:
        """True if a paper can do without it; every paper has a type, and authors somewhere."""
        return self.name not in UNSCORED


@dataclass(frozen=True)
class SettingView:
    """One setting and what is said of its source."""

    name: str
    setting: Setting
    source: str
    words: Opinions
    stamp: str

    @property
    def key(self) -> str:
        """The setting's name."""
        return self.name


@dataclass(frozen=True)
class ControlView:
    """One control of a claim and what is said of it."""

    key: str
    title: str
    differences: str
    why: str
    words: Opinions


@dataclass(frozen=True)
class ClaimView:
    """One claim with its checks and controls, and what is said of each."""

    index: int
    claim: Claim
    words: Opinions
    checks: Sequence[tuple[CheckView, Opinions]]
    controls: Sequence[ControlView]
    findings: Sequence[tuple[int, Finding]]
    responses: Sequence[Response]
    stamp: str

    @property
    def key(self) -> str:
        """The claim's id."""
        return self.claim.id

    @property
    def disputes(self) -> int:
        """The number of the reviewer's own disputes about it."""
        every = (self.words, *(w for _, w in self.checks), *(c.words for c in self.controls))
        return sum(words.own is not None for words in every)


@dataclass(frozen=True)
class FindingView:
    """One finding and the answers to it."""

    index: int
    finding: Finding
    responses: Sequence[Response]
    stamp: str

    @property
    def key(self) -> str:
        """The finding's id."""
        return self.finding.id


@dataclass(frozen=True)
class DeskView:
    """One version of an audit as one reviewer may see it."""

    version: Version
    reviewer: str
    blind: bool

    @property
    def audit(self) -> Audit | None:
        """The audit; None while it has errors."""
        return self.version.audit

    @property
    def title(self) -> str:
        """The paper's title."""
        return str(self.version.text.at(("paper", "title")) or self.version.path.stem)

    # --- variables --------------------------------------------------------------------------------

    def variables(self) -> list[VariableView]:
        """The variables, in the file's order."""
        entries: list[Any] = self.version.text.at(("variables",)) or []
        known = set(VariableName)
        return [
            self._variable(i, one, entries)
            for i, one in enumerate(entries)
            if isinstance(one, Mapping) and one.get("name") in known
        ]

    def undecided(self) -> list[VariableView]:
        """The variables on which the reviewer has still to decide."""
        return [one for one in self.variables() if one.words.own is None]

    def _variable(self, index: int, one: Mapping[str, Any], entries: Sequence[Any]) -> VariableView:
        reviews = [
            Opinion(*(str(review.get(f, "")) for f in ("reviewer", "decision", "reason", "as_of")))
            for review in one.get("reviews") or ()
            if isinstance(review, Mapping) and review.get("reviewer") != TODO
        ]
        card = one.get("card") or {}
        words = self._words(reviews, settled=any(w.who == self.reviewer for w in reviews))
        evidence = [(str(e.get("statement")), str(e.get("locator"))) for e in one["evidence"] or ()]
        evidence += [
            (
                f"The authors answer {said.get('answer')}. {said.get('justification', '')}".strip(),
                str(said.get("locator")),
            )
            for said in one.get("authors") or ()
            if isinstance(said, Mapping)
        ]
        return VariableView(
            index=index,
            name=one["name"],
            question=QUESTIONS[one["name"]],
            result=str(card.get("result")),
            read_on=str(card.get("as_of")),
            evidence=evidence,
            words=words,
            follows={d.value: self._follows(index, d, entries) for d in ReviewDecision},
            stamp=stamp_of(one["name"], card, evidence, words.own),
        )

    def _follows(self, index: int, decision: ReviewDecision, entries: Sequence[Any]) -> str:
        """The result of a decision, if the reviewer's other decisions and the card hold."""
        variables = [
            self._decided(one, decision if i == index else None) for i, one in enumerate(entries)
        ]
        name = variables[index].name
        if name in UNSCORED:
            return "describes the paper, and is not scored"
        counts = "documented" if reviewed_yes(variables[index]) else "not documented"
        if name not in (VariableName.OPEN_SOURCE_CODE, VariableName.OPEN_DATASETS):
            return f"counts as {counts}"
        shared = score(variables).sharing_type
        return f"counts as {counts}; sharing type {shared.value}: {SHARING[shared]}"

    def _decided(self, one: Mapping[str, Any], decision: ReviewDecision | None) -> Variable:
        """A variable with one review: the decision, or else the reviewer's own, or agreement."""
        own: Mapping[str, Any] = next(
            (r for r in one.get("reviews") or () if r.get("reviewer") == self.reviewer), {}
        )
        today = self.version.today
        return Variable.model_construct(
            name=one.get("name"),  # type: ignore[arg-type]  # a draft's may be anything
            card=Classification(result=str((one.get("card") or {}).get("result")), as_of=today),
            reviews=(
                Review(
                    reviewer=self.reviewer,
                    decision=decision or _decision(own.get("decision", "agree")),
                    reason="-",
                    as_of=today,
                ),
            ),
            evidence=(),
        )

    # --- settings, claims, findings ---------------------------------------------------------------

    def settings(self) -> list[SettingView]:
        """Every setting, shared ones first; what the paper leaves open before what it states."""
        if self.audit is None:
            return []
        every = list(self.audit.settings.items())
        for experiment, one in self.audit.experiments.items():
            every += [(f"{experiment}.{name}", setting) for name, setting in one.settings.items()]
        views = [self._setting(name, setting) for name, setting in every]
        return sorted(views, key=lambda view: _openness(view.setting))

    def _setting(self, name: str, setting: Setting) -> SettingView:
        words = self._disputes(Disputed(source=name))
        stamp = stamp_of(setting.model_dump(mode="json"), words.own)
        return SettingView(name, setting, SOURCES[setting.source], words, stamp)

    def claims(self) -> list[ClaimView]:
        """Every claim, in the file's order."""
        return [] if self.audit is None else [
            self._claim(self.audit, i, one) for i, one in enumerate(self.audit.claims)
        ]  # fmt: skip

    def _claim(self, audit: Audit, index: int, claim: Claim) -> ClaimView:
        checks = [
            (
                check_view(audit, claim, check),
                self._disputes(Disputed(claim=claim.id, tolerance=check.name)),
            )
            for check in claim.checks
        ]
        words = self._disputes(Disputed(claim=claim.id))
        controls = list(self._controls(audit, claim))
        said = [words.own, *(w.own for _, w in checks), *(c.words.own for c in controls)]
        return ClaimView(
            index=index,
            claim=claim,
            words=words,
            checks=checks,
            controls=controls,
            findings=[(i, f) for i, f in enumerate(audit.findings) if claim.id in f.claims],
            responses=[one for one in audit.responses if one.to == claim.id],
            stamp=stamp_of(claim.model_dump(mode="json"), said),
        )

    def _controls(self, audit: Audit, claim: Claim) -> Iterable[ControlView]:
        for number, one in enumerate(audit.controls_of(claim), start=1):
            words = self._disputes(Disputed(claim=claim.id, control=number))
            title = f"Control {number} ({one.name})" if one.name else f"Control {number}"
            yield ControlView(str(number), title, _differences(one), one.why, words)
        positive = audit.positive_control_of(claim)
        words = self._disputes(Disputed(claim=claim.id, control="positive"))
        if isinstance(positive, NoPositiveControl):
            yield ControlView(
                "positive", "No positive control", "", positive.not_constructible, words
            )
        else:
            differences = _differences(positive)
            yield ControlView("positive", "Positive control", differences, positive.why, words)

    def findings(self) -> list[FindingView]:
        """Every finding, in the file's order."""
        if self.audit is None:
            return []
        views = []
        for i, one in enumerate(self.audit.findings):
            responses = [response for response in self.audit.responses if response.to == one.id]
            stamp = stamp_of(one.model_dump(mode="json"))
            views.append(FindingView(i, one, responses, stamp))
        return views

    # --- who said what ----------------------------------------------------------------------------

    @property
    def signed(self) -> bool:
        """True if the reviewer has signed off the audit, in whatever version."""
        return any(one.get("reviewer") == self.reviewer for one in self._entries("sign_offs"))

    def _entries(self, field: str) -> list[Mapping[str, Any]]:
        found = self.version.text.at((field,)) or []
        return [one for one in found if isinstance(one, Mapping)]

    def _disputes(self, about: Disputed) -> Opinions:
        said = {"reviewer", "reason", "as_of"}
        found = [
            Opinion(
                str(one.get("reviewer")), "disputed", str(one.get("reason")), str(one.get("as_of"))
            )
            for one in self._entries("disputes")
            if {name: value for name, value in one.items() if name not in said} == about.fields
        ]
        own = any(one.who == self.reviewer for one in found)
        return self._words(found, settled=own or self.signed)

    def _words(self, every: Sequence[Opinion], *, settled: bool) -> Opinions:
        own = next((one for one in every if one.who == self.reviewer), None)
        others = [one for one in every if one.who != self.reviewer]
        hidden = self.blind and not settled
        return Opinions(own, () if hidden else others, hidden)


def _decision(text: str) -> ReviewDecision:
    try:
        return ReviewDecision(text)
    except ValueError:  # of a draft
        return ReviewDecision.AGREE


def _openness(setting: Setting) -> int:
    if setting.underspecified:
        return 0
    return 1 if setting.source is Source.RECALLED else 2


def _differences(control: Any) -> str:
    """The settings in which a control differs, in words."""
    read = [f"{theirs} in place of {ours}" for ours, theirs in control.substitutes.items()]
    return "; ".join([*([settings_words(control.settings)] if control.settings else []), *read])


def first_sentence(text: str) -> str:
    """A text up to the first end of a sentence that a capital letter, quote or bracket follows."""
    return re.split(r"(?<=[.!?])\s+(?=[A-Z\"“(])", text.strip(), maxsplit=1)[0]


def values_text(values: Iterable[Any]) -> str:
    """Alternatives as a reviewer types them."""
    return ", ".join(value_words(one) for one in values)
