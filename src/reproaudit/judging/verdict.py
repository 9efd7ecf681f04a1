"""The verdict on a claim, from its own decision, its controls' and the ledger's.

The rules in plain words; the first that applies gives the verdict:

1. At the smoke tier nothing is tested: `not_tested`.
2. A run that a claim needs failed or cannot be judged: `technical_failure`; it is missing, or the
   runs of a claim that trains are all the same, or did not train: `not_tested`.
3. A part is met on its ablation, the control that lacks the claimed mechanism and has to miss it:
   `vacuous`, since the check shows nothing.
   Not missed, and a part cannot be tested with these measurements or so few runs: `not_tested`.
4. The claim is missed, and so is the check on the constructed solution, and no control meets it:
   `unattainable`, out of reach of the mechanism itself in this setting.
5. The claim is undecided, or met while its ablations or its constructed solution do not decide or
   go the wrong way: `inconclusive`.
6. An alternative of the ledger, run at this tier, turns met into missed or missed into met, beyond
   seed noise: `conditional`. The setting and its values are named. An alternative counts as met
   only if its own ablations miss; one that settles nothing is named and changes no verdict.
7. Met: `supported`, with the number of alternatives that were run.
8. Missed: `contradicted` at the paper tier, on exact evidence, or if every alternative of every
   setting that we guessed was run at this tier and missed. Otherwise `inconclusive`.

So a guess of ours neither convicts a paper nor acquits it in silence. Which control answers for a
part: `ablations`. What of a control counts: `outcomes`. How close the runs were to the paper:
`evidence`. What the ledger's alternatives say: `alternatives`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reproaudit.audit.model import Audit, Claim, Control, TierName
from reproaudit.audit.plan import Role, claim_batches
from reproaudit.checks.failure_rate import FailureRate
from reproaudit.judging.ablations import Ablations, judge_ablations
from reproaudit.judging.alternatives import AlternativeRun, HangsOn, LedgerRuns
from reproaudit.judging.evidence import evidence_level
from reproaudit.judging.model import EvidenceLevel, Verdict
from reproaudit.judging.outcomes import (
    BatchOutcome,
    Lookup,
    differing_runs,
    judge_control,
    judge_own,
    trained_after_all,
)
from reproaudit.stats import Decision, clopper_pearson


@dataclass(frozen=True)
class ClaimOutcome:
    """The verdict on a claim, and everything that it follows from.

    Attributes:
        own: the claim's own experiment.
        ablations: how each part fared on its ablation.
        ledger: the alternatives of the settings that the claim reads.
        hangs_on: of a conditional verdict: the settings that it depends on.
        why: the sentence that gives the reason for the verdict.
        rule_hash: of the rule by which it was judged.
    """

    claim: Claim
    own: BatchOutcome
    controls: tuple[BatchOutcome, ...]
    positive: BatchOutcome | None
    ablations: Ablations
    ledger: LedgerRuns
    hangs_on: tuple[HangsOn, ...]
    evidence: EvidenceLevel
    verdict: Verdict
    why: str
    rule_hash: str

    @property
    def decision(self) -> Decision | None:
        """The decision by the claim's own experiment."""
        return self.own.decision


def judge_claims(
    audit: Audit,
    tier: TierName,
    lookup: Lookup,
    alternatives: Mapping[str, Sequence[AlternativeRun]] | None = None,
) -> tuple[ClaimOutcome, ...]:
    """Judge every claim of an audit at a tier.

    Args:
        lookup: finds the records.
        alternatives: by claim id, what is known of it under the ledger's alternatives
            (`reproaudit.multiverse.ledger`); None if no alternative was run.
    """
    known = alternatives or {}
    return tuple(
        judge_claim(audit, claim, tier, lookup, known.get(claim.id, ())) for claim in audit.claims
    )


def judge_claim(
    audit: Audit,
    claim: Claim,
    tier: TierName,
    lookup: Lookup,
    alternatives: Sequence[AlternativeRun] = (),
) -> ClaimOutcome:
    """Judge one claim by its own experiment, its controls, and the ledger's alternatives."""
    stated = (*audit.controls_of(claim), audit.positive_control_of(claim))
    named = [control for control in stated if isinstance(control, Control)]
    batches = list(claim_batches(audit, claim, tier))
    own = judge_own(audit, claim, batches[0][1], lookup(batches[0][1]))
    others = [
        judge_control(audit, claim, control, role, batch, lookup(batch), own, tier)
        for control, (role, batch) in zip(named, batches[1:], strict=True)
    ]
    controls = tuple(o for o in others if o.role is Role.CONTROL)
    positive = next((o for o in others if o.role is Role.POSITIVE_CONTROL), None)
    ablations = judge_ablations(own.parts, controls)
    evidence = evidence_level(audit, claim, tier, own.records)
    ledger = LedgerRuns.of_claim(audit, claim, tier, alternatives)
    verdict, why = decide_verdict(tier, own, controls, ablations, positive, evidence, ledger)
    return ClaimOutcome(
        claim=claim,
        own=own,
        controls=controls,
        positive=positive,
        ablations=ablations,
        ledger=ledger,
        hangs_on=ledger.hangs_on(own.decision) if verdict is Verdict.CONDITIONAL else (),
        evidence=evidence,
        verdict=verdict,
        why=why,
        rule_hash=audit.rule_hash(claim, tier),
    )


def decide_verdict(
    tier: TierName,
    own: BatchOutcome,
    controls: Sequence[BatchOutcome],
    ablations: Ablations,
    positive: BatchOutcome | None,
    evidence: EvidenceLevel,
    ledger: LedgerRuns,
) -> tuple[Verdict, str]:
    """The verdict and the sentence that gives its reason; the order of the questions matters."""
    if tier == "smoke":
        return Verdict.NOT_TESTED, "the smoke tier only proves that the experiments run"
    problems = [o.problem for o in (own, *controls, *([positive] if positive else [])) if o.problem]
    if problems:
        return min(problems, key=lambda problem: problem[0] is not Verdict.TECHNICAL_FAILURE)
    if met := ablations.parts(Decision.MET):
        control = ablations.answers[met[0]][0]
        return Verdict.VACUOUS, (
            f"the part '{met[0]}' is met on {control.label}, which lacks the mechanism, so it "
            "shows nothing"
        )
    if own.decision is not Decision.MISSED and (
        untested := [f"'{part.name}': {part.untested}" for part in own.parts if part.untested]
    ):
        return Verdict.NOT_TESTED, "; ".join(untested)
    if own.decision is Decision.UNDECIDED:
        return Verdict.INCONCLUSIVE, "interval and runs together do not decide"
    constructed = positive.decision if positive is not None else Decision.MET
    if own.decision is Decision.MISSED:
        return _missed(tier, controls, constructed, evidence, ledger)
    return _met(own, controls, ablations, positive, ledger)


def _met(
    own: BatchOutcome,
    controls: Sequence[BatchOutcome],
    ablations: Ablations,
    positive: BatchOutcome | None,
    ledger: LedgerRuns,
) -> tuple[Verdict, str]:
    """The verdict on a claim that is met, and none of whose parts its ablation meets."""
    if positive is not None and positive.decision is Decision.MISSED:
        return Verdict.INCONCLUSIVE, "met, but missed on the constructed solution"
    if ablations.unanswered:
        name, reason = ablations.unanswered[0]
        return Verdict.INCONCLUSIVE, f"met, but the part '{name}' has no ablation: {reason}"
    if ablations.decision is not Decision.MISSED:
        name = ablations.parts(Decision.UNDECIDED)[0]
        control = ablations.answers[name][0]
        if met_too := ablations.met_too.get(name):
            return Verdict.INCONCLUSIVE, (
                f"met, but {control.label}, too, meets {_quoted(met_too)}, so that the part "
                f"'{name}' is not told from its absence there"
            )
        return Verdict.INCONCLUSIVE, f"met, but {control.label} does not decide the part '{name}'"
    if positive is not None and positive.decision is Decision.UNDECIDED:
        return Verdict.INCONCLUSIVE, "met, but the constructed solution does not decide"
    if ledger.hangs_on(Decision.MET):
        return Verdict.CONDITIONAL, _conditional(Decision.MET, ledger)
    every = "every part is missed on its ablation"
    if ablations.alone:
        every = "every part that its ablation has is missed there"
    said = [f"met, and {every}", *_scales(ablations)]
    said.extend(_only_read(own, ablations))
    said.extend(_unshown(own, ablations))
    if also := [label for labels in ablations.met_too.values() for label in labels]:
        said.append(f"an ablation, too, meets {_quoted(also)}, which it need not miss")
    said.extend(_met_elsewhere(controls, ablations))
    said.extend(_unseen(own))
    return Verdict.SUPPORTED, "; ".join([*said, *_ledger_words(Decision.MET, ledger)])


def _missed(
    tier: TierName,
    controls: Sequence[BatchOutcome],
    constructed: Decision | None,
    evidence: EvidenceLevel,
    ledger: LedgerRuns,
) -> tuple[Verdict, str]:
    """The verdict on a claim that is missed."""
    if constructed is Decision.MISSED:
        counting = [c for c in controls if c.counts_for_nothing is None]
        meeting = next((c for c in counting if c.decision is Decision.MET), None)
        if meeting is None:
            return Verdict.UNATTAINABLE, (
                "missed, also on the constructed solution: out of reach of the mechanism itself in "
                f"this setting; {'; '.join(_ledger_words(Decision.MISSED, ledger))}"
            )
        return Verdict.INCONCLUSIVE, (
            f"missed, also on the constructed solution, but met on {meeting.label}"
        )
    if ledger.hangs_on(Decision.MISSED):
        return Verdict.CONDITIONAL, _conditional(Decision.MISSED, ledger)
    said = "; ".join(_ledger_words(Decision.MISSED, ledger))
    if tier != "paper":
        return Verdict.INCONCLUSIVE, (
            f"missed, but at the {tier} tier, which may not contradict the paper; {said}"
        )
    if evidence is EvidenceLevel.EXACT:
        return Verdict.CONTRADICTED, "missed at the paper's scale and with settings it states"
    if evidence is EvidenceLevel.ASSUMED and ledger.all_missed:
        return Verdict.CONTRADICTED, (
            f"missed at the paper's scale, and under every alternative that it leaves open: {said}"
        )
    return (
        Verdict.INCONCLUSIVE,
        f"missed, but on {evidence} evidence, which may not contradict a paper; {said}",
    )


def _quoted(labels: Sequence[str]) -> str:
    return "; ".join(f"'{label}'" for label in labels)


def _unseen(own: BatchOutcome) -> Iterator[str]:
    """The share of failing runs that so few runs on the right side do not exclude.

    Nothing where a part judges that share, or where nothing is trained and all runs are the same.
    """
    rates = any(isinstance(one.part, FailureRate) for one in own.conditions)
    runs = len(own.records)
    several = differing_runs(own) or trained_after_all(own)
    if own.conditions and not rates and several:
        share = clopper_pearson(0, runs, 0.9).high  # one-sided at 95 %
        yield f"{runs} runs cannot rule out that up to {100 * share:.0f} % of all runs would fail"


def _conditional(own: Decision, ledger: LedgerRuns) -> str:
    sentences = [one.sentence for one in ledger.hangs_on(own)]
    return "; ".join([" and ".join(sentences), *_ledger_words(own, ledger)])


def _ledger_words(own: Decision, ledger: LedgerRuns) -> Iterator[str]:
    yield ledger.counted()
    if rest := ledger.open_words(own):
        yield f"not settled: {rest}"


def _only_read(own: BatchOutcome, ablations: Ablations) -> Iterator[str]:
    """The ablations that are read by other measurements, with how many parts they answer for."""
    answering = [control.label for control, _ in ablations.answers.values()]
    for control in (one for one in ablations.controls if one.substitutes):
        of = f"for {answering.count(control.label)} of {len(answering)} parts"
        if control.batch.experiment != own.batch.experiment or control.batch.overrides:
            yield f"{of} {control.label} is judged by other measurements than the claim"
        else:
            yield (
                f"{of} the ablation runs nothing: {control.label} reads other measurements of the "
                "claim's own experiment"
            )


def _unshown(own: BatchOutcome, ablations: Ablations) -> Iterator[str]:
    """The claim's own runs and ablations of which nothing says that they trained, or how long."""
    labels: dict[str, list[str]] = {own.unshown: ["the claim's own runs"]}
    for control in ablations.controls:
        labels.setdefault(control.unshown, []).append(control.label)
    for reason, several in labels.items():
        if reason:
            yield f"nothing shows that {' and '.join(several)} trained: {reason}"
    for control in ablations.controls:
        if control.length_unshown:
            yield f"nothing shows that {control.label} trained for as long as the claim"


MOST_QUOTED = 3
"""Parts that a verdict names; of more it gives the number."""


def _met_elsewhere(controls: Sequence[BatchOutcome], ablations: Ablations) -> Iterator[str]:
    """The parts that their ablation misses, and that another control of the claim meets."""
    for control in controls:
        met = [
            part.name
            for part in control.parts
            if part.decision is Decision.MET
            and control.counts_for_nothing is None
            and part.name in ablations.answers
            and ablations.answers[part.name][0] is not control
        ]
        if met:
            named = f"{len(met)} parts" if len(met) > MOST_QUOTED else f"{_quoted(met)}"
            yield f"{control.label}, which is not their ablation, meets {named}"


def _scales(ablations: Ablations) -> Iterator[str]:
    """The ablations at another scale than the claim's, and the parts that exist at it alone."""
    for control in ablations.controls:
        for size, words in (("smaller", control.smaller), ("larger", control.larger)):
            if words:
                yield f"{control.label} runs at a {size} scale ({words})"
        if control.scale_reason and not (control.smaller or control.larger):
            yield f"{control.label} is said to run at another scale, which no setting shows"
    if ablations.alone:
        total = ablations.alone + len(ablations.answers)
        yield f"{ablations.alone} of {total} parts exist at the claim's scale alone"
