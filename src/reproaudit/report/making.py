"""What a page says of its making: records, versions, settings, findings; and of reviews.

What an audit no longer has is named by its id.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from reproaudit.audit.documentation import Documented
from reproaudit.audit.model import Finding
from reproaudit.audit.review import Dispute, version_of
from reproaudit.declarations import Declaration
from reproaudit.formats.names import Namer
from reproaudit.formats.numbers import counted, listed, setting_value, several
from reproaudit.formats.scorecard import HeadNote, LeftOut, Scorecard


def as_written_words(card: Scorecard) -> str:
    """Return how old a scorecard is that is shown as its file has it; '' of any other."""
    if card.changed_since is None:
        return ""
    found = card.records
    last = f" up to {found.last.date()}" if found.last is not None else ""
    changed = listed([field.replace("_", " ") for field in card.changed_since])
    since = f"The audit has changed since: {changed}." if changed else "The audit is the same."
    which = "that came with the installation, as it" if card.shipped else "as it"
    return (
        f"For want of records nothing was judged now: this is the scorecard {which} was written "
        f"(format {card.schema_version}), of {counted(found.count, 'record')}{last}. {since}"
    )


def records_words(card: Scorecard) -> str:
    """Return how many records there are, how they ended, and from when they are."""
    found = card.records
    days = [None if moment is None else moment.date() for moment in (found.started, found.last)]
    return (
        f"{found.completed} completed, {found.diverged} diverged, {found.failed} failed; "
        f"{round(found.seconds / 3600, 3)} hours of one core; {days[0]} to {days[1]}."
    )


def made_words(card: Scorecard) -> Iterator[str]:
    """Yield what made the records: code, versions, device; and what was left out."""
    made = card.made
    machine = made.environment
    if machine is not None:
        packages = [f"{name} {version}" for name, version in sorted(machine.packages.items())]
        yield f"Python {machine.python}; {', '.join(packages)}."
        threads = "" if machine.threads is None else f", {machine.threads} thread a run"
        yield f"{machine.device}{threads}; {machine.form} form; {machine.platform}."
        if made.of_today is False:
            whole = [revision or "unknown" for revision in made.revisions]
            short = dict.fromkeys(f"{r[:12]}{'+dirty' * r.endswith('+dirty')}" for r in whole)
            yield f"Made by other code than today's: revision {several(list(short), 6)}."
        if made.adopted:
            codes = listed([code[:8] for code in (*made.adopted, made.code)])
            yield (
                f"Measured with code {codes}, in {made.measured_again:,} of "
                f"{card.records.count:,} cells with two of them: the same bits."
            )
        if made.other_groups:
            yield f"{made.other_groups} other groups of records were left out."
    for records in made.left_out:
        yield f"{records.count} {records.tier} records were left out: {_why_left_out(records)}."
    if made.damaged:
        yield f"{made.damaged} damaged records of alternatives were left out."
    if made.listed is not None:
        yield "These records came with the report and were judged again."
    if made.lacking:
        of_all = f"{made.lacking} of the {made.listed} records that its list names"
        yield f"Their archive lacks {of_all}."
    yield from made.remarks


def _why_left_out(left_out: LeftOut) -> str:
    if left_out.data:
        return f"they read another '{left_out.data}' than the last run"
    names = listed([f"'{name}'" for name in left_out.measurements])
    return (
        f"experiment '{left_out.experiment}' measured {names} along {left_out.before}, and "
        f"the audit now declares {left_out.now}"
    )


def reviewers_words(documented: Documented) -> str:
    """Return the reviewers' word on one variable."""
    if documented.disputed:
        return "disputed"
    return listed(sorted({each.decision.replace("_", " ") for each in documented.decisions}))


def findings(card: Scorecard) -> list[Finding]:
    """Return where sources differ; what changes an answer first."""
    return sorted(card.audit.findings, key=lambda finding: not finding.changes)


def changed(finding: Finding) -> str:
    """Return the names of the claims that a finding bears on."""
    return listed([claim.partition(".")[2] for claim in finding.changes])


def settings(card: Scorecard) -> list[str]:
    """Return every setting with value and source, the shared ones first, claims' own last."""
    of_claims = [
        f"{name} = {setting_value(value)} (of {claim.id} alone)"
        for claim in card.audit.claims
        for name, value in claim.settings.items()
    ]
    stated = []
    for name, setting in card.audit.every_setting().items():
        where = ", ".join(filter(None, (setting.side, setting.locator or setting.why)))
        stated.append(f"{name} = {setting_value(setting.at(card.scale))} ({where})")
    return [*stated, *of_claims]


def measurements(card: Scorecard) -> list[tuple[str, Declaration]]:
    """Return every measurement with its name, the shared ones first."""
    own = [experiment.measurements for experiment in card.audit.experiments.values()]
    return [pair for named in (card.audit.measurements, *own) for pair in named.items()]


def decisions(card: Scorecard) -> list[str]:
    """Return every decision on a variable, in the order of the audit's variables."""
    return [
        f"{variable.name}: {review.reviewer}, {review.as_of}, {review.decision.replace('_', ' ')}. "
        f"{review.reason}"
        for variable in card.audit.variables
        for review in card.reviews.variables.get(variable.name, ())
    ]


def opinions(card: Scorecard) -> list[str]:
    """Return the disputes with their answers, then other answers, then sign-offs; oldest first."""
    said = {finding.id: finding.statement for finding in card.audit.findings}
    said |= {claim.id: claim.short for claim in card.audit.claims}
    day = attrgetter("as_of")
    answers = sorted(card.reviews.responses, key=day)
    found = []
    for dispute in sorted(card.reviews.disputes, key=day):
        to_it = [answer for answer in answers if answer.to == dispute.claim]
        replies = "".join(f" {each.by}, {each.as_of}: {each.statement}" for each in to_it)
        claim = f"claim “{said.get(dispute.claim, dispute.claim)}”" if dispute.claim else ""
        disputes = f"disputes the {claim or _about(card, dispute)}: {dispute.reason}"
        found.append(f"{dispute.reviewer}, {dispute.as_of}, {disputes}{replies}")
    disputed = {dispute.claim for dispute in card.reviews.disputes}
    for answer in answers:
        if answer.to not in disputed:
            about = said.get(answer.to, answer.to)
            found.append(f"{answer.by}, {answer.as_of}, on “{about}”: {answer.statement}")
    for sign_off in sorted(card.reviews.sign_offs, key=day):
        which = "this" if sign_off.version == version_of(card.audit) else "another"
        signed = f"signed off {which} version of the audit."
        found.append(f"{sign_off.reviewer}, {sign_off.as_of}, {signed}")
    return found


def note_words(note: HeadNote) -> str:
    """Return whose opinion a note is, from when, and whether claims or answers have changed."""
    stale = "; claims or answers have changed since" if note.stale else ""
    return f"opinion of {note.by}, {note.as_of}{stale}"


def _about(card: Scorecard, dispute: Dispute) -> str:
    """The arm or the setting that is disputed, as pages call it."""
    namer = Namer(card.audit)
    if dispute.arm is not None:
        arms = [arm for claim in card.audit.claims for _, arm in claim.arms()]
        own = [arm.words for arm in arms if not isinstance(arm, str) and arm.name == dispute.arm]
        return f"arm “{next(filter(None, own), namer.arm(dispute.arm))}”"
    source = str(dispute.source)
    experiment, _, name = source.rpartition(".")
    if experiment in card.audit.experiments:
        title = card.audit.experiments[experiment].title
        return f"setting “{namer.setting(experiment, name)} ({title})”"
    shared = card.audit.settings.get(source)
    called = source if experiment else source.replace("_", " ")
    return f"setting “{shared.words if shared and shared.words else called}”"
