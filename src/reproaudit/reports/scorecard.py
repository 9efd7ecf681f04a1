"""The outline of a scorecard: the paper, every claim, and what stands behind them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from reproaudit.audit.documentation import UNSCORED
from reproaudit.reports import findings, numbers, phrasing, reviewing
from reproaudit.reports import outline as o
from reproaudit.reports.claim import (
    badge,
    claim_badge,
    claim_row,
    claim_section,
    figure_caption,
    verdict_badges,
)
from reproaudit.reports.sources import measurements_section, settings_section
from reproaudit.scorecard.elsewhere import BesideModel
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.scorecard.verdicts import EVIDENCE, VERDICTS, Tone

HOW_TO_READ_COURSES = (
    "In the pictures of the claims a thin line is a run and a thick one the mean of the runs. A "
    "disc ends the claim's own line, a square a control's, a diamond that of the constructed "
    "solution. Shaded is what meets the rule, long dashes are its bound, target or curve. A "
    "triangle is an onset, the column above it the range of its uncertainty; Roman numbers are "
    "stages of the training."
)
HOW_TO_READ_NUMBERS = (
    "“0.0251 [0.0204, 0.0308] ≤ 0.1” is an estimate with its interval, against the bound that it "
    "meets; “not ≤ 0.1” misses it. A question mark after the bound, as in “0.944 ≥ 0.95?”, says "
    "that the runs do not decide."
)
HOW_TO_READ_PICTURES = (
    "In the pictures of estimates the shaded range satisfies the rule, and the dashed line is its "
    "bound or target. A disc is the claim's own estimate, a square a control (which must fail), a "
    "diamond "
    "the positive control (a constructed solution, which must pass). The bar is the interval that "
    "decides, the small circles are the seeds. An arrowhead marks an interval that goes on beyond "
    "the axis. Below an estimate stands how many runs meet the bound by themselves, with Wilson's "
    "interval of their share."
)


def scorecard_document(
    card: Scorecard,
    *,
    multiverse: bool = False,
    index: bool = False,
    data: str = "",
) -> o.Document:
    """Returns the outline of one paper's scorecard at one tier.

    Args:
        card: the scorecard.
        multiverse: whether a page of its multiverse stands beside it, to be linked.
        index: whether an index page stands above it, to be linked.
        data: the link to the numbers of the pictures, if they stand in a file.
    """
    claims = [claim_section(card, one, n, data) for n, one in _numbered(card)]
    return o.Document(
        name=f"{card.paper.get('slug', '')}: scorecard, {card.tier} tier",
        title=str(card.paper.get("title", "")),
        lead=tuple(_lead(card, index)),
        blocks=(
            _summary(card, multiverse),
            o.Section("Claims", (*_courses(card), *claims), anchor="claims"),
            *_beside(card),
            *_figures(card),
            _documentation(card),
            _ledger(card),
            *settings_section(card),
            *measurements_section(card),
            *_disputed_sources(card),
            _findings(card),
            _not_audited(card),
            _environment(card),
        ),
    )


def _courses(card: Scorecard) -> Iterator[o.Piece]:
    if any(claim.pictures for claim in card.claims):
        yield o.Paragraph(HOW_TO_READ_COURSES, "soft", detail=o.Detail.PAGE)


def _lead(card: Scorecard, index: bool) -> Iterator[o.Piece]:
    paper = card.paper
    if index:
        yield o.Paragraph((o.Span("All papers", href="../index.html"),), detail=o.Detail.PAGE)
    links = o.joined(_links(paper), " · ")
    slug, tier = str(paper.get("slug", "")), card.tier
    yield o.Paragraph(f"{phrasing.citation(paper)} · {slug} · {tier} tier", "soft")
    if links:
        yield o.Paragraph(links, "soft", detail=o.Detail.FULL)
    if paper.get("code"):
        yield o.Paragraph(f"Authors' code: {paper['code']}", "soft", detail=o.Detail.FULL)
    yield o.Paragraph(
        "There is no single number for a paper: read the claims, their weights and the coverage.",
        detail=o.Detail.FULL,
    )
    if card.origin:
        yield o.Paragraph(phrasing.origin_words(card.origin), "warning")
        if card.origin.remarks:
            yield o.Paragraph("What stands out in these measurements:", "warning")
            yield o.Bullets([o.Item((one,)) for one in card.origin.remarks])


def _links(paper: Mapping[str, Any]) -> Iterator[o.Span]:
    """Yields plain links to the paper; a page loads nothing from them."""
    if arxiv := paper.get("arxiv"):
        yield o.Span(f"arXiv {arxiv}", href=f"https://arxiv.org/abs/{quote(str(arxiv))}")
    if forum := paper.get("openreview"):
        href = f"https://openreview.net/forum?id={quote(str(forum), safe='')}"
        yield o.Span("OpenReview", href=href)


# --- summary ------------------------------------------------------------------------------------


def _summary(card: Scorecard, multiverse: bool) -> o.Section:
    documentation, found = card.documentation, len(card.findings)
    settings = f"{numbers.counted(len(card.ledger), 'setting')} that the paper leaves open"
    left_open: tuple[str | o.Span, ...] = (o.Span(settings, href="#ledger"),)
    if multiverse:
        left_open += ("; ", o.Span("the claims that depend on them", href="multiverse.html"))
    discrepancies = f"{found} {'discrepancy' if found == 1 else 'discrepancies'}"
    score = f"{reviewing.score_words(documentation)}. {reviewing.rate_words(documentation)}"
    rows: list[tuple[o.Line, o.Line]] = [
        ("verdicts", verdict_badges(phrasing.verdict_counts(card.claims))),
        ("coverage", phrasing.coverage_words(card)),
        ("chance", phrasing.chance_words(card)),
        ("documentation", score),
        *_agreement_rows(card),
        ("left open", left_open),
        (
            "findings",
            (o.Span(discrepancies, href="#findings"), " between paper, card, code and practice"),
        ),
        ("records", phrasing.records_words(card)),
        *(("custom records", phrasing.custom_words(one)) for one in card.custom),
    ]
    table = o.Tabular(
        ("Claim", "Verdict", "Evidence", "Weight", "Estimate [interval] against bound"),
        [claim_row(claim, f"#claim-{n}", card.tier, weight=True) for n, claim in _numbered(card)],
        "Every audited claim, with the estimate of its deciding part",
        detail=o.Detail.FULL,
    )
    verdicts = [(badge(verdict), row.meaning) for verdict, row in VERDICTS.items()]
    levels = [(o.Span(k.value, "badge", Tone.NEUTRAL), said) for k, said in EVIDENCE.items()]
    how_to_read = (HOW_TO_READ_NUMBERS, HOW_TO_READ_PICTURES)
    legend = (o.Facts([*verdicts, *levels]), *(o.Paragraph(one, "soft") for one in how_to_read))
    how = o.Fold("How to read this page", legend, detail=o.Detail.PAGE)
    return o.Section("Summary", (o.Facts(rows), table, how), anchor="summary", closing=True)


def _numbered(card: Scorecard) -> Iterator[tuple[int, ClaimModel]]:
    return enumerate(card.claims, start=1)


def _agreement_rows(card: Scorecard) -> Iterator[tuple[o.Line, o.Line]]:
    if card.documentation.agreement is not None:
        yield "reviewers", reviewing.agreement_words(card.documentation.agreement)
        for name, said in reviewing.open_disagreements(card.documentation).items():
            yield "", f"open: {name}: {said}"


# --- the sections after the claims --------------------------------------------------------------


def _beside(card: Scorecard) -> Iterator[o.Section]:
    """Yields the section that shows each claim from elsewhere above our own answer."""
    if not card.beside:
        return
    theirs = {claim.id: (number, claim) for number, claim in _numbered(card)}
    blocks: list[o.Piece] = [
        o.Paragraph(
            "The same rule on these measurements and on ours.", "soft", detail=o.Detail.FULL
        )
    ]
    for ours in card.beside:
        number, claim = theirs[ours.id]
        evidence, said = phrasing.evidence_label(claim), phrasing.claim_sentence(claim)
        rows = (
            ("elsewhere", _one_of_two(claim, evidence, said)),
            ("ours", _one_of_two(ours, ours.evidence, ours.reading)),
            ("difference", ours.difference),
        )
        title = o.Span(ours.id, href=f"#claim-{number}")
        blocks.append(o.Section(title, (o.Facts(rows),), level=3, anchor=f"beside-{number}"))
    yield o.Section("Beside our own records", blocks, anchor="beside")


def _one_of_two(one: ClaimModel | BesideModel, evidence: str, said: str) -> o.Line:
    decision = phrasing.decision_words(one.decision)
    return claim_badge(one), f" ({decision}, evidence {evidence}): ", o.digits(said)


def _figures(card: Scorecard) -> Iterator[o.Section]:
    """Yields the figures of experiments that no claim is judged on."""
    judged = {claim.experiment for claim in card.claims}
    pictures = [
        o.Picture(figure_caption(one), one, f"figure-{one.id}")
        for one in card.figures
        if one.experiment not in judged
    ]
    if pictures:
        gallery = o.Gallery(pictures, detail=o.Detail.FULL)
        yield o.Section("Figures", (gallery,), anchor="figures", detail=o.Detail.FULL)


def _documentation(card: Scorecard) -> o.Section:
    documentation = card.documentation
    rows = []
    for one in documentation.variables:
        decided = [phrasing.words(one.decision)]
        if documentation.agreement and len(one.decisions) > 1:
            decided += [f"{who}: {phrasing.words(what)}" for who, what in one.decisions.items()]
        counts = "yes" if one.documented else "no"
        counts = "not scored" if one.name in UNSCORED else counts
        result = o.Lines((one.card, o.soft(one.card_as_of)))
        told = (o.Lines(one.reasons), o.Lines(one.evidence))
        rows.append((one.name, result, o.Lines(decided), counts, *told))
    columns = ("Variable", "Card", "Review", "Documented", "Reasons", "Evidence")
    caption = "The nine reproducibility variables: the automated card against the review"
    blocks = (o.Tabular(columns, rows, caption), *_agreement(card))
    return o.Section("Documentation", blocks, anchor="documentation", detail=o.Detail.FULL)


def _agreement(card: Scorecard) -> Iterator[o.Piece]:
    agreement = card.documentation.agreement
    if agreement is None:
        return
    yield o.Paragraph(f"{reviewing.agreement_words(agreement)}.")
    still_open = reviewing.open_disagreements(card.documentation)
    rows = []
    for one in agreement.variables:
        share = f"{one.agreeing} of {one.pairs} ({100 * one.agreeing / one.pairs:.0f} %)"
        rows.append((one.name, str(one.reviewers), share, still_open.get(one.name, "no")))
    columns = ("Variable", "Reviewers", "Agreeing pairs", "Open")
    yield o.Tabular(columns, rows, "Pairs of reviewers that decided alike, by variable")


def _ledger(card: Scorecard) -> o.Section:
    rows = []
    for one in card.ledger:
        value = numbers.value_words(one.value)
        others = "; ".join(numbers.value_words(other) for other in one.others)
        source = phrasing.words(one.source)
        rows.append((o.code(one.setting), one.experiment or "all", value, source, one.why, others))
    columns = ("Setting", "Experiment", "Value run", "Source", "Why", "Other values")
    caption = "Settings that the paper leaves open or that its sources contradict"
    empty = o.Paragraph("Empty: no setting is assumed or contradicted.")
    block = o.Tabular(columns, rows, caption) if rows else empty
    title = "Underspecification ledger"
    return o.Section(title, (block,), anchor="ledger", detail=o.Detail.FULL)


def _disputed_sources(card: Scorecard) -> Iterator[o.Section]:
    """Yields the disputes of settings' sources, if there are any."""
    disputes = [one for one in card.disputes if one.source is not None]
    if disputes:
        items = [o.Item((reviewing.dispute_words(one),)) for one in disputes]
        yield o.Section("Disputed sources", (o.Bullets(items),), anchor="disputed")


def _findings(card: Scorecard) -> o.Section:
    items = [
        o.Item(tuple(_finding(card, one)), f"finding-{number}")
        for number, one in enumerate(card.findings, start=1)
    ]
    block = o.Bullets(items) if items else o.Paragraph("None.")
    return o.Section("Findings", (block,), anchor="findings")


def _finding(card: Scorecard, one: Mapping[str, Any]) -> Iterator[o.Line]:
    yield o.strong(str(one["id"])), f" ({one['kind']}, {one['as_of']}): {one['statement']}"
    about: list[str | o.Span] = [f"Sources: {'; '.join(one['sources'])}."]
    if one["settings"]:
        about.append(f" Settings: {', '.join(one['settings'])}.")
    if named := findings.claims_named(card, one):
        links = (o.Span(name, href=f"#claim-{n}" if n else "") for n, name in named)
        about += [" Claims: ", *o.joined(links), "."]
    about.append(f" Measured effect: {findings.effect_words(one)}")
    yield tuple(about)
    for response in findings.responses_to(card, str(one["id"])):
        yield o.strong("Response"), f" of {findings.response_words(response)}"


def _not_audited(card: Scorecard) -> o.Section:
    items = [
        o.Item((f"{one['statement']} ({one['locator']})", f"Why not: {one['reason']}"))
        for one in card.not_audited
    ]
    block = o.Bullets(items) if items else o.Paragraph("None listed.")
    return o.Section("Claims not audited", (block,), anchor="not-audited")


def _environment(card: Scorecard) -> o.Section:
    environment = card.environment
    packages = (f"{name} {version}" for name, version in sorted(environment.packages.items()))
    facts: dict[str, Iterable[object]] = {
        "Python": environment.python,
        "platform": environment.platform,
        "device": environment.device,
        "form": environment.form,
        "threads": environment.threads,
        "packages": packages,
        "revision": environment.revision,
        "code hash": environment.code,
    }
    rows = [(name, ", ".join(map(str, all_)) or "none recorded") for name, all_ in facts.items()]
    blocks: list[o.Piece] = [o.Facts(rows)]
    if card.custom:
        blocks.append(o.Paragraph("Custom records, which feed no verdict:"))
        blocks.append(o.Bullets([o.Item((phrasing.custom_words(one),)) for one in card.custom]))
    summary = f"{len(card.records)} records"
    blocks.append(o.Fold(summary, (_records(card),), detail=o.Detail.PAGE))
    title = "Environment and records"
    return o.Section(title, blocks, anchor="environment", detail=o.Detail.FULL)


def _records(card: Scorecard) -> o.Tabular:
    columns = "Experiment,Role,Scale,Replaced settings,Seed,Status,Fingerprint,Started,Time"
    rows = []
    for one in card.records:
        what = (one.experiment, one.role.value, one.tier)
        run = (numbers.settings_words(one.overrides) or "none", str(one.seed), one.status.value)
        when = (f"{one.started:%Y-%m-%d %H:%M}", numbers.duration(one.seconds))
        rows.append((*what, *run, o.code(one.fingerprint[:16]), *when))
    return o.Tabular(columns.split(","), rows, "Every record behind the verdicts")
