"""The outline of one claim: its answers and its controls', its parts, and its pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reproaudit.judging.model import Verdict
from reproaudit.reports import findings, numbers, phrasing, reviewing, status
from reproaudit.reports import outline as o
from reproaudit.reports.interval_plot import Plot, PlotRow, lay_out
from reproaudit.reports.printable import clean
from reproaudit.reports.sources import unstated_words
from reproaudit.reports.stated_rule import reads, stated_rule
from reproaudit.scorecard.elsewhere import BesideModel, OriginModel
from reproaudit.scorecard.figures import FigureModel
from reproaudit.scorecard.model import AnswerModel, ClaimModel, ControlModel, Scorecard
from reproaudit.scorecard.verdicts import VERDICTS, without_limits
from reproaudit.stats import Decision


def badge(verdict: Verdict, text: str | None = None) -> o.Span:
    """Returns a verdict in its colour, in its own words or in these."""
    return o.Span(text or phrasing.words(verdict), "badge", VERDICTS[verdict].tone)


def verdict_badges(counts: Mapping[str, int]) -> o.Line:
    """Returns how often each verdict was given (`phrasing.verdict_counts`)."""
    badges = (
        badge(Verdict(without_limits(name)), f"{n} {phrasing.words(name)}")
        for name, n in counts.items()
    )
    return o.joined(badges) or "no claims"


def claim_badge(claim: ClaimModel | BesideModel) -> o.Span:
    """Returns a claim's verdict in its colour, with its scale if that is smaller."""
    return badge(claim.verdict, phrasing.verdict_title(claim))


def _verdict_cell(claim: ClaimModel, tier: str) -> o.GridCell:
    """Returns the verdict with what it depends on; of support, how many alternatives were run."""
    below = [one.sentence for one in claim.hangs_on]
    if claim.verdict is Verdict.SUPPORTED and (run := status.alternatives_told(claim, tier)):
        below.append(run)
    return o.Lines((claim_badge(claim), *below)) if below else claim_badge(claim)


def _with_runs(answer: AnswerModel | ClaimModel, said: str) -> o.GridCell:
    """Returns an estimate, and below it how many runs meet the bound by themselves."""
    runs = phrasing.runs_words(answer)
    return o.digits(said) if runs is None else o.Lines((o.digits(said), o.soft(runs)))


def claim_row(
    claim: ClaimModel,
    href: str,
    tier: str,
    *,
    weight: bool = False,
    origin: OriginModel | None = None,
) -> o.GridRow:
    """Returns a claim's row in a table of claims.

    Args:
        claim: the claim.
        href: the link to the whole claim.
        tier: of its scorecard.
        weight: whether the table has a column for the weight.
        origin: who measured, if not we; the statement is then left to our own row.
    """
    name: o.GridCell = o.Lines((o.Span(claim.id, href=href), o.soft(claim.statement)))
    if origin is not None:
        link = o.Span(f"{claim.id}, measured by {origin.who}", href=href)
        name = (link, o.soft(f" (not ours, {origin.made})"))
    weights = (numbers.stated(claim.weight),) if weight else ()
    estimate = _with_runs(claim, phrasing.claim_sentence(claim))
    return name, _verdict_cell(claim, tier), phrasing.evidence_label(claim), *weights, estimate


# --- a claim ------------------------------------------------------------------------------------


def claim_section(card: Scorecard, claim: ClaimModel, number: int, data: str = "") -> o.Section:
    """Returns everything that is told of a claim, under its number on the scorecard.

    Args:
        card: the scorecard.
        claim: one of its claims.
        number: its place, from 1.
        data: the link to the numbers of the pictures, if they stand in a file.
    """
    run = status.alternatives_told(claim, card.tier) if claim.verdict is Verdict.SUPPORTED else ""
    locator = claim.locator.replace("·", "-")  # which parts what we say of the claim
    meta = (
        f"{locator} · weight {numbers.stated(claim.weight)} · evidence "
        f"{phrasing.evidence_label(claim)} · {f'{run} · ' if run else ''}"
        f"experiment {claim.experiment} · rule {claim.rule_hash[:8]}"
    )
    columns = ("Who", "Decision", "Estimate [interval] against bound", "How")
    caption = "The claim, and the controls that must fail or pass"
    blocks = (
        o.Paragraph(claim.statement, "statement"),
        *(o.Paragraph(o.strong(phrasing.upper_first(f"{h.sentence}."))) for h in claim.hangs_on),
        o.Paragraph(meta, "soft"),
        *_pictures(card, claim, number, data),
        o.Tabular(columns, list(_answers(card, claim)), caption, "stacked"),
        o.Facts(list(_facts(card, claim))),
        *([_parts(claim, number)] if len(claim.parts) > 1 else []),
        *filter(None, [stated_rule(claim, has_meanings=bool(card.measurements))]),
    )
    title = (claim_badge(claim), " ", o.code(claim.id))
    return o.Section(title, blocks, level=3, anchor=f"claim-{number}")


def _facts(card: Scorecard, claim: ClaimModel) -> Iterator[tuple[o.Line, o.Line]]:
    part = phrasing.deciding_part(claim)
    yield "why", claim.why
    is_tested = (
        claim.verdict is not Verdict.NOT_TESTED
    )  # else "why" says how many seeds are missing
    if part is not None and is_tested and (power := phrasing.power(part)):
        yield "undecided", power
    yield "evidence", phrasing.evidence_words(claim) + unstated_words(card, claim)
    if told := list(phrasing.alternatives_words(card, claim)):
        yield "alternatives", "; ".join(told)
    if trained := phrasing.movement_words(claim):
        yield "training", trained
    if part is not None:
        yield "tolerance", part.reason
    about = [o.Span(name, href=f"#finding-{n}") for n, name in findings.findings_about(card, claim)]
    if about:
        yield "findings", o.joined(about)
    for response in findings.responses_to(card, claim.id):
        yield "response", findings.response_words(response)
    for dispute in reviewing.disputes_of_claim(card, claim.id):
        yield "disputed", reviewing.dispute_words(dispute)


def _answers(card: Scorecard, claim: ClaimModel) -> Iterator[o.GridRow]:
    part = phrasing.deciding_part(claim)
    said, how = "no estimate", ""
    if part is not None:
        among = f" Of {len(claim.parts)} parts, this one decides." if len(claim.parts) > 1 else ""
        said, spread = numbers.sentence(part), numbers.spread(part, claim.seeds)
        runs = f" {phrasing.runs_words(part)}." if part.runs_met else ""
        found = reads(claim, part)
        read = f", read from {found}" if found not in ("", part.name) else ""
        how = f"Measured: {phrasing.measured_words(part)}{read}.{among} {spread}{runs}"
    elif claim.decision is not None:
        said = phrasing.no_estimate(card, claim.experiment, card.tier, {})
    yield _answer("this claim", phrasing.decision_words(claim.decision), said, how)
    for name, control in phrasing.controls_of(claim):
        theirs = phrasing.experiment_differences(card, claim, control)
        differs = (phrasing.control_differences(control), theirs, f"{control.tier} scale")
        how = f"{control.why} ({control.experiment} with {', '.join(filter(None, differs))})"
        seeds = _other_seeds(card, claim, control)
        how = "; ".join([how, *seeds, *phrasing.control_notes(claim, control)])
        said = phrasing.control_words(card, claim, control)
        yield _answer(name, phrasing.decision_words(control.decision), said, how)
    if claim.positive_control is None:
        reason = claim.positive_control_missing or phrasing.NO_REASON
        yield _answer("positive control", "none", "none can be constructed", reason)


def _other_seeds(card: Scorecard, claim: ClaimModel, control: ControlModel) -> Iterator[str]:
    """Yields the seeds of a control's runs, if they are not the first of the claim's."""
    batch = control.experiment, control.tier, control.settings
    seeds = [r.seed for r in card.records if (r.experiment, r.tier, r.overrides) == batch]
    if seeds and seeds != list(claim.seeds[: len(seeds)]):
        yield f"{numbers.counted(len(seeds), 'run')}, seeds {numbers.ranges(seeds)}"


def _answer(name: str, decision: str, estimate: str, how: str) -> o.GridRow:
    return name, o.strong(decision), o.digits(estimate), how


def _parts(claim: ClaimModel, number: int) -> o.Piece:
    deciding, plots, rows = phrasing.deciding_part(claim), _part_plots(claim), []
    for index, part in enumerate(claim.parts):
        name = phrasing.measured_words(part)
        rows.append(
            (
                (name, o.soft(" (decides)")) if part is deciding else name,
                part.decision.value,
                _with_runs(part, numbers.sentence(part)),
                o.PlotCell(plots[index], f"part-{number}-{index + 1}"),
                phrasing.ablation_words(part),
                o.Lines([o.digits(said) for said in _part_controls(claim, index)]),
            )
        )
    estimate = "Estimate [interval], bound"
    columns = ("Part", "Decision", estimate, "Picture", "Ablation", "Each control")
    table = o.Tabular(columns, rows, pages_only=("Each control",))
    met = sum(one.decision is Decision.MET for one in claim.parts)
    every = met == len(claim.parts)
    said = "all met" if every else f"all must be met; met: {met}"
    return o.Fold(f"{len(claim.parts)} parts, {said}", (table,), is_open=not every)


def _part_controls(claim: ClaimModel, index: int) -> Iterator[str]:
    """Yields each control's answer to a part; a single control needs no name."""
    several = len(claim.controls) > 1
    for name, control in phrasing.controls_of(claim):
        if control is not claim.positive_control and index < len(control.parts):
            one = control.parts[index]
            yield f"{name + ' ' if several else ''}{one.decision.value}: {numbers.sentence(one)}"


# --- a claim's pictures -------------------------------------------------------------------------


def parts_words(parts: Sequence[str]) -> str:
    """Returns the names of parts; those that differ in a coordinate alone are put together."""
    told: dict[str, list[str]] = {}
    for one in parts:
        name, comma, at = one.rpartition(", ")
        axis, _, coordinate = at.rpartition(" ")
        key = f"{name}{comma}{axis}" if name and axis else one
        told.setdefault(key, []).extend([coordinate] if name and axis else [])
    return clean("; ".join(f"{key} {', '.join(at)}".rstrip() for key, at in told.items()))


def _plot_caption(claim: ClaimModel, rows: Sequence[PlotRow], plot: Plot) -> o.Line:
    name, _, condition = rows[0].answer.measured.partition(": ")
    notes = [] if plot.scale == "linear" else [f"{numbers.scale_name(plot.scale)} scale"]
    if claim.parts and rows[0].kind != "claim":
        notes.append("in this claim another condition of the part decides")
    said = name if condition in ("", name) else f"{name}: {condition}"
    return said, o.soft(f" ({'; '.join(notes)})" if notes else "")


def _pictures(card: Scorecard, claim: ClaimModel, number: int, data: str) -> Iterator[o.Piece]:
    """Yields the pictures of what is judged and of the estimates, and what else the audit shows."""
    drawn = [
        o.Picture(o.strong(parts_words(one.parts)), one, f"picture-{number}-{place}")
        for place, one in enumerate(claim.pictures, start=1)
    ]
    estimates = [
        o.Picture(caption, plot, f"plot-{number}-{i}", detail=o.Detail.PAGE)
        for i, (caption, plot) in enumerate(_plots(claim), start=1)
    ]
    if drawn or estimates:
        detail = o.Detail.FULL if drawn else o.Detail.PAGE
        yield o.Gallery([*drawn, *estimates], detail=detail)
        if drawn and data:
            link = o.Span("The numbers of the pictures (CSV)", href=data)
            yield o.Paragraph((link,), "soft", detail=o.Detail.PAGE)
    beside = [
        o.Picture(figure_caption(one), one, f"figure-{one.id}") for one in figures_of(card, claim)
    ]
    if beside:
        words = "picture" if len(beside) == 1 else "pictures"
        summary = f"{len(beside)} more {words} of the experiment {claim.experiment}"
        yield o.Fold(summary, (o.Gallery(beside),), is_open=True, detail=o.Detail.FULL)


def figures_of(card: Scorecard, claim: ClaimModel) -> list[FigureModel]:
    """Returns the audit's own figures that stand beside a claim: the first of their experiment."""
    first = next(one for one in card.claims if one.experiment == claim.experiment)
    return [one for one in card.figures if one.experiment == claim.experiment and claim is first]


def figure_caption(figure: FigureModel) -> o.Line:
    """Returns the caption of a figure that the audit asks for."""
    seeds = "" if figure.kind == "matrices" else f"; seeds {numbers.ranges(figure.seeds)}"
    return f"{figure.title}. Experiment ", o.code(figure.experiment), f"; {figure.band}{seeds}."


def _plots(claim: ClaimModel) -> Iterator[tuple[o.Line, Plot]]:
    """Yields one picture for each condition: this claim, and who answers the same, on one axis.

    Drawn are what decides the claim and each of its controls, and the parts that no other picture
    shows.
    """
    groups: list[list[PlotRow]] = []
    deciding = phrasing.deciding_part(claim)
    groups += [_part_rows(claim, i) for i, one in enumerate(claim.parts) if one is deciding]
    for name, control in phrasing.controls_of(claim):
        answer, _ = phrasing.shown_answer(claim, control)
        if answer is None or any(row.answer is answer for group in groups for row in group):
            continue
        index = next(i for i, one in enumerate(control.parts) if one is answer)
        group = _part_rows(claim, index) if index < len(claim.parts) else []
        if any(row.answer is answer for row in group):
            groups.append(group)
            continue
        alike = (g for g in groups if g[0].kind != "claim" and _is_same(g[0].answer, answer))
        if (beside := next(alike, None)) is None:
            groups.append(beside := [])
        beside.append(_control_row(claim, name, control, answer))
    drawn = {name for one in claim.pictures for name in one.parts}
    for index, one in enumerate(claim.parts):
        shown = [(g[0].answer.bound, g[0].answer.per_seed) for g in groups]
        if one.name not in drawn and (one.bound, one.per_seed) not in shown:
            groups.append(_part_rows(claim, index))
    for group in groups:
        plot = lay_out(group)
        yield _plot_caption(claim, group, plot), plot


def _part_plots(claim: ClaimModel) -> list[Plot]:
    """Returns a small picture of each part with its controls; those of one rule share an axis."""
    rows = [_part_rows(claim, index) for index in range(len(claim.parts))]
    plots = []
    for own in rows:
        alike = [r for other in rows if _same_rule(other[0].answer, own[0].answer) for r in other]
        plots.append(lay_out(own, among=alike, width=200, gutter=8, ticks=False))
    return plots


def _part_rows(claim: ClaimModel, index: int) -> list[PlotRow]:
    """Returns a part of the claim, and every control that was judged by the same condition."""
    part = claim.parts[index]
    rows = [PlotRow("this claim", "claim", part)]
    for name, control in phrasing.controls_of(claim):
        if index < len(control.parts) and _is_same(control.parts[index], part):
            rows.append(_control_row(claim, name, control, control.parts[index]))
    return rows


def _control_row(
    claim: ClaimModel, name: str, control: ControlModel, answer: AnswerModel
) -> PlotRow:
    """Returns a control's row under its number; the table beside it has its name."""
    kind = "positive" if control is claim.positive_control else "control"
    return PlotRow(name.partition(" (")[0], kind, answer)


def _is_same(one: AnswerModel, other: AnswerModel) -> bool:
    """Returns whether two answers are to the same condition."""
    return one.measured == other.measured and _same_rule(one, other)


def _same_rule(one: AnswerModel, other: AnswerModel) -> bool:
    """Returns whether two answers are held against the same bound, on scales that do not differ."""
    scales = {a.interval.scale for a in (one, other) if a.interval}
    rules = [(a.side, a.bound, a.margin) for a in (one, other)]
    return rules[0] == rules[1] and len(scales) < 2
