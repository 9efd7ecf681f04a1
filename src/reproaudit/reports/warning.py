"""Warnings: what a reader of a verdict must not miss, beside the verdict and on the last screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reproaudit.judging.model import Verdict
from reproaudit.reports.numbers import counted, value_words
from reproaudit.reports.repeats import repeated_runs
from reproaudit.reports.says_less import (
    equal_numbers,
    missed_says_less,
    skewed_runs,
    slow_from_the_start,
    without_a_course,
)
from reproaudit.reports.stated_rule import below_the_floor
from reproaudit.reports.status import holds
from reproaudit.reports.trained_away import met_from_the_start, trained_away
from reproaudit.reports.whole_runs import missing_some_part
from reproaudit.repositories.run_file import NOT_OF_THE_SOURCE
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.seals.telling import counted_words, verdicts_on_new_seeds
from reproaudit.stats import Decision

UNDER_ANOTHER_NAME = "Run under another name"
"""An alternative was run, and nobody has judged it as one."""
ONCE_CONDITIONAL = "An earlier result was conditional"
"""The verdict hung on an alternative of which there is no word today."""
ONCE_UNSETTLED = "Alternatives that are not shown here once left it unmet or undecided"
"""The records may be gone, or the alternatives left out."""
GONE_BADLY = "Claims of this audit that are gone did not hold once"
"""Another claim may stand in their place."""
TWIN = "Another claim makes the same statement, or made it"
"""Its results and looks are counted with it alone."""
READ_ONCE = "Another claim read measurements of this one once, and reads them no more"
"""This claim may have taken over its question."""
BY_THIS_RULE = (
    "By this rule, or one that asks the same of it, with other records or code of the claim, its "
    "controls or its alternatives"
)
"""Other verdicts were recorded: what is shown is one of several draws."""
ON_ANOTHER_BRANCH = "By another rule, on another branch"
"""The rule of today may have been chosen by what that one gave."""
ABLATION_HANGS_ON = "The ablation hangs on settings that the paper leaves open"
"""No alternative of them was held against the claim."""
CONTROL_AT_QUICK_SCALE = "A control runs with the quick values"
"""They are its experiment's own: the control lacks more than the mechanism."""
WITHOUT_RECORDS = (
    "The records behind this page are not here: it says what its scorecard.json says, and nobody "
    "can judge it again."
)
"""It may be older than the audit and its chain of seals."""
OF_NO_RESULT = "The records behind this report"
"""The chain of seals has no result on these records."""
CONTROLS_OF_OTHERS = "Models that are controls of other claims"
"""They meet every part of this one."""
WITHOUT_EFFECT = "Alternatives that were run"
"""They leave every number as it is."""
BELOW_THE_FLOOR = "Below the floor"
"""Numbers count as larger than they are."""
CUT_SHORT = "What is judged ends before its training"
"""Its last number is not that of the trained model."""
BEGINS_LATE = "What is judged begins late in training"
"""Of what came before nothing is judged."""
HARDLY_OBSERVED = "A course is held against its curve at few steps, or none for long"
"""Between two observations it may have left its curve and come back."""
BEGINS_MET = "Its own runs begin where a part is met, as would a model that learns nothing"
"""Of parts on two numbers; those on a single one show it in their pictures."""
TRAINED_AWAY = "Training took an ablation away from what is claimed"
"""As `BEGINS_MET`."""
LEFT_OUT = "The audit leaves out where a part is not met"
"""The others of its axis are judged, as it says under 'among'."""
NO_SHARE = "A share lies between 0 and 1, and what is judged as one does not"
"""The covered part of its way to 1 means nothing for other numbers."""
NOT_TRAINED_ON = "A loss that is said to be that after training on is the loss before it"
"""It was not trained on, or it did not move at all."""
MEANS_OTHERWISE = "A control measures something else under the same name"
"""Its declaration says so in other words; perhaps they mean the same."""
NOT_TRAINED = "Some runs did not train"
"""By what the audit takes for movement; they are judged like the others."""
NOT_IN_THE_LEDGER = "Sources contradict each other on it, and no alternative tells what hangs on it"
"""A finding says so, and names no setting that a multiverse could vary."""
FEWER_RUNS = "Fewer runs than they seem"
"""Runs of several seeds are one, and passes and failures do not show it."""
OTHER_LENGTH = "The runs went through another number of steps than is stated"
"""The scale of the evidence is read from the settings."""
CONTRADICTED_ONCE = "An earlier result was contradicted"
"""The rule, the evidence or the records of today are other ones."""
REPLACED = "Records behind these verdicts replaced earlier ones"
"""A program that gives other numbers each time could be run until they please."""
SEEDS_SEEN = "Seeds of a confirmation had been measured before it began"
"""It was then no look at new runs; a rule could be chosen by what they gave."""
CONFIRMED_AGAIN = "A seal is confirmed once, and today's rule was confirmed more often"
"""On branches or in folders that did not know of each other; the best one could be shown."""
OTHER_CODE = "The records are of other code than today's"
"""The code that one reads may not be the one that made them."""
OTHER_COMMAND = "The records are of another run file, or other versions, than today's"
"""The command that is told may not be the one that made them."""
NOT_SEALED = "Changed, and not sealed"
"""The rule of today may follow from what was seen."""
NO_CHAIN = "No chain of seals tells whether this rule was changed after results"
"""The measurements are judged by an audit without one, perhaps a copy."""
ANOTHER_RULE = "Judged by another rule than our own scorecard of this claim"
"""The measurements are from elsewhere, and the audit behind them may be a copy."""
OTHER_AUDITS = "There are other audits of the same paper"
"""Numbers of it may have been seen by their names."""
DERIVED = "The evidence is called exact, and the audit's author derived settings"
"""That they follow from what the paper states is the author's word."""
STANDS_OUT = "Something stands out in these measurements"
"""They are from elsewhere: what it is stands at the head of the page."""
NOT_ENTERED = "No entry of the chain records the numbers"
"""The chain of seals has no result with these numbers of the claim."""

_IN_HISTORY = (
    UNDER_ANOTHER_NAME,
    ONCE_CONDITIONAL,
    ONCE_UNSETTLED,
    GONE_BADLY,
    TWIN,
    READ_ONCE,
    BY_THIS_RULE,
    ON_ANOTHER_BRANCH,
    ABLATION_HANGS_ON,
    CONTROL_AT_QUICK_SCALE,
    WITHOUT_RECORDS,
    OF_NO_RESULT,
    NOT_ENTERED,
    CONTROLS_OF_OTHERS,
    WITHOUT_EFFECT,
    BELOW_THE_FLOOR,
    CUT_SHORT,
    BEGINS_LATE,
    HARDLY_OBSERVED,
    BEGINS_MET,
    TRAINED_AWAY,
    LEFT_OUT,
    NO_SHARE,
    NOT_TRAINED_ON,
    MEANS_OTHERWISE,
    NOT_IN_THE_LEDGER,
    NOT_TRAINED,
    FEWER_RUNS,
    OTHER_LENGTH,
    CONTRADICTED_ONCE,
    "Curves that may look cut are said to be all that was logged",
    NOT_OF_THE_SOURCE,
    REPLACED,
    SEEDS_SEEN,
    CONFIRMED_AGAIN,
    OTHER_CODE,
    OTHER_COMMAND,
    ANOTHER_RULE,
    DERIVED,
    OTHER_AUDITS,
    STANDS_OUT,
    NOT_SEALED,
    NO_CHAIN,
)
"""The beginnings of sentences of a claim's history that are warnings as well."""


def warnings(claim: ClaimModel, tier: str) -> tuple[str, ...]:
    """Returns the warnings of a claim, judged at a tier."""
    found = []
    if claim.rule_is_younger:
        found.append("the rule is younger than its records: it was changed after they were made")
    if claim.undiscriminated:
        found.append(f"met on the control too: {', '.join(claim.undiscriminated)}")
    positive = claim.positive_control
    if positive is not None and (claim.decision, positive.decision) == ("met", "missed"):
        found.append("met, although the solution constructed for it misses")
    if new := otherwise_on_new_seeds(claim):
        found.append(f"on the new seeds of its last confirmation it came out {new}")
    found += [one.rstrip(".") for one in claim.history if one.startswith(_IN_HISTORY)]
    found += [*_earlier_confirmations(claim), *_missed_alternatives(claim, tier)]
    found += missed_says_less(claim, tier)
    beside = (
        _met_by_others,
        _hardly_moved,
        trained_away,
        met_from_the_start,
        missing_some_part,
        repeated_runs,
        below_the_floor,
        skewed_runs,
        equal_numbers,
        without_a_course,
        slow_from_the_start,
    )
    return (*found, *(one for tell in beside for one in tell(claim)))


def warned_words(scorecard: Scorecard) -> str:
    """Returns ``3 of 7 claims with warnings``, to stand where there is no room for the warnings."""
    warned = sum(bool(warnings(one, scorecard.tier)) for one in scorecard.claims)
    return f"{warned} of {counted(len(scorecard.claims), 'claim')} with warnings"


def otherwise_on_new_seeds(claim: ClaimModel) -> str | None:
    """Returns the verdict of the last confirmation if it is another one than the claim's."""
    new = verdicts_on_new_seeds(claim.history, claim.id)[-1:]
    return None if new in ([], [_words(claim)]) else new[0]


def _words(claim: ClaimModel) -> str:
    return claim.verdict.replace("_", " ")


def _earlier_confirmations(claim: ClaimModel) -> Iterator[str]:
    """Yields a warning on earlier confirmations that gave a supported claim other verdicts.

    The last one may have been of another rule, and another one be that of today's.
    """
    every = verdicts_on_new_seeds(claim.history, claim.id)
    others = Counter(one for one in every[:-1] if one != _words(claim))
    if others and claim.verdict is Verdict.SUPPORTED:
        said = counted_words(others)
        yield (
            f"on the new seeds of earlier ones of its {len(every)} confirmations it came out {said}"
        )


def _missed_alternatives(claim: ClaimModel, tier: str) -> Iterator[str]:
    """Yields a warning on alternatives of a supported claim that miss or decide nothing.

    They miss within seed noise, or the verdict would be another. They decide nothing where runs
    failed, or where the ablation meets what the claim meets. The more alternatives are listed, the
    larger a difference has to be to flip the claim.
    """
    if claim.verdict is not Verdict.SUPPORTED:
        return
    named: dict[Decision, list[str]] = {}
    below: dict[str, list[str]] = {}
    for one in claim.alternatives:
        words = f"{one.setting} = {value_words(one.value)}"
        if one.tier == tier and one.decision is Decision.MISSED and one.note:
            yield f"missed with {words}: {one.note}"
        elif one.tier == tier:
            named.setdefault(one.decision, []).append(words)
        elif one.flips:
            below.setdefault(one.tier, []).append(words)
    if missed := named.get(Decision.MISSED):
        yield f"missed with {', '.join(missed)}, though the difference may be seed noise"
    if undecided := named.get(Decision.UNDECIDED):
        yield f"undecided with {', '.join(undecided)}: nothing shows that it holds there"
    for smaller, flipping in below.items():
        yield f"at the {smaller} tier it flips with {', '.join(flipping)}, not run at this one"


def _met_by_others(claim: ClaimModel) -> Iterator[str]:
    """Yields a warning on each control that meets all of a claim that holds, or its first part.

    It is none of its ablations: of those that meet every part the verdict tells, and those of one
    part may meet the others.
    """
    if not holds(claim):
        return
    ablations = {part.ablation for part in claim.parts}
    for place, control in enumerate(claim.controls, start=1):
        name = control.name or place
        met = [part.decision is Decision.MET for part in control.parts]
        if control.decision is Decision.MET:
            yield f"control {name} meets every part: nothing shows that what it lacks is needed"
        elif met and met[0] and control.name not in ablations and len(claim.controls) > 1:
            yield f"control {name} meets {sum(met)} of {len(met)} parts, the primary one among them"


HARDLY = 0.01
"""An ablation whose loss moved by less than this share of the claim's has learned little."""


def _hardly_moved(claim: ClaimModel) -> Iterator[str]:
    """Yields a warning on each ablation of a claim that holds whose loss moved far less than its.

    It counts as trained, as its audit has it, and is closer to a model that learns nothing.
    """
    ours = claim.movement.loss_moved if claim.movement is not None else None
    if not holds(claim) or ours is None:
        return
    ablations = {part.ablation for part in claim.parts}
    for place, control in enumerate(claim.controls, start=1):
        its = control.loss_moved
        answers = control.name in ablations or len(claim.controls) == 1
        if answers and its is not None and not control.loss_stays and its < HARDLY * ours:
            yield (
                f"control {control.name or place} moved its training loss by {its:.2g} times its "
                f"size, and the claim's own runs by {ours:.2g}: it learned little of anything"
            )
