"""The scorecard in a terminal.

It reads the same without colour: verdicts are words, rules are drawn with characters, and colour
only repeats what is written. Text from audits and records is never taken for markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from reproaudit.reports import phrasing
from reproaudit.reports.phrasing import ListEntry, clean
from reproaudit.scorecard import BesideModel, ClaimModel, PartModel, Scorecard

__all__ = ["ListEntry", "pairs", "print_trimmed", "render_index", "render_list", "render_scorecard"]

STYLES = {
    "supported": "bold green",
    "contradicted": "bold red",
    "inconclusive": "bold yellow",
    "vacuous": "bold magenta",
    "technical_failure": "bold red",
    "not_tested": "bold",
}
WIDEST = 110
"""Longer lines are harder to read, however wide the terminal."""


def render_scorecard(scorecard: Scorecard, console: Console) -> None:
    """Print a scorecard: the paper, every claim, and what stands behind them."""
    blocks: list[RenderableType] = [_heading(scorecard)]
    for claim in scorecard.claims:
        blocks += [Text(), _claim(scorecard, claim)]
    if scorecard.beside:
        blocks += [Text(), _beside(scorecard)]
    blocks += [Text(), _summary(scorecard)]
    print_trimmed(Group(*blocks), console)


def render_index(scorecards: Sequence[Scorecard], console: Console) -> None:
    """Print one line per scorecard."""
    table = _table("paper", "tier", "documented", "claims", "tested")
    for one in scorecards:
        documentation, coverage = one.documentation, one.coverage
        table.add_row(
            _text(str(one.paper.get("slug", ""))),
            _text(one.tier),
            f"{documentation.strict}/{documentation.of} card\n"
            f"{documentation.reviewed}/{documentation.of} reviewed",
            _counts(phrasing.verdict_counts(one.claims)),
            f"{coverage.tested} of {coverage.claims}",
        )
    print_trimmed(table, console)


def render_list(entries: Iterable[ListEntry], console: Console) -> None:
    """Print the known papers: title, venue, documentation (card → reviewed), last verdicts."""
    table = _table("paper", "title", "venue", "card → reviewed", "last verdicts")
    for one in entries:
        verdicts = Text("not run", style="dim")
        if one.verdicts is not None:
            verdicts = Text.assemble(f"{one.tier or ''}: ", _counts(one.verdicts))
        table.add_row(
            _text(one.slug),
            _text(one.title),
            _text(one.venue),
            f"{one.strict} → {one.reviewed} of {one.of}",
            verdicts,
        )
    print_trimmed(table, console)


@dataclass(frozen=True)
class _Trimmed:
    """The same without blanks at the ends of lines, so that output can be piped and compared."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self.inner, options, pad=False):
            while line and not line[-1].text.strip():
                line.pop()
            if line:
                last = line.pop()
                line.append(Segment(last.text.rstrip(), last.style))
            yield from line
            yield Segment.line()


def print_trimmed(content: RenderableType, console: Console) -> None:
    """Print without blanks at the ends of lines, and no wider than reads well."""
    width = min(console.width, WIDEST)
    console.print(_Trimmed(content), width=width, highlight=False)


# --- pieces -------------------------------------------------------------------------------------


def _text(text: str, style: str = "") -> Text:
    return Text(clean(text), style=style, overflow="fold")


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def pairs(rows: Iterable[tuple[str, RenderableType]], label: int = 12) -> Table:
    """Lines of label and text, the text wrapping under itself."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=label, style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in rows:
        grid.add_row(name, text)
    return grid


def _verdict(verdict: str) -> Text:
    return Text(phrasing.words(verdict).upper(), style=STYLES.get(verdict, "bold"))


def _counts(counts: Mapping[str, int]) -> Text:
    text = Text(overflow="fold")
    for index, (verdict, count) in enumerate(counts.items()):
        text.append(", " if index else "")
        style = STYLES.get(verdict, "").split(" ")[-1]
        text.append(f"{count} {phrasing.words(verdict)}", style=style)
    return text or Text("no claims")


# --- the paper ----------------------------------------------------------------------------------


def _heading(scorecard: Scorecard) -> RenderableType:
    paper = scorecard.paper
    return Group(
        Rule(style="dim"),
        _text(str(paper.get("title", "")), style="bold"),
        _text(f"{phrasing.citation(paper)} · {paper.get('slug', '')} · {scorecard.tier} tier"),
        *([_text(phrasing.origin_words(scorecard.origin), "bold")] if scorecard.origin else []),
        Rule(style="dim"),
    )


def _beside(scorecard: Scorecard) -> RenderableType:
    """Each claim from elsewhere and ours, line under line."""
    theirs = {claim.id: claim for claim in scorecard.claims}
    blocks: list[RenderableType] = [Rule("beside our own records", style="dim", align="left")]
    for ours in scorecard.beside:
        claim = theirs[ours.id]
        part = phrasing.binding_part(claim)
        rows: list[tuple[str, RenderableType]] = [
            (
                "elsewhere",
                _answer(
                    claim,
                    phrasing.evidence_label(claim),
                    phrasing.sentence(part) if part else "no estimate",
                ),
            ),
            ("ours", _answer(ours, ours.evidence, ours.reading)),
            ("difference", _text(ours.difference)),
        ]
        blocks += [_text(ours.id, "bold"), Padding(pairs(rows), (0, 0, 0, 2))]
    return Group(*blocks)


def _answer(one: ClaimModel | BesideModel, evidence: str, reading: str) -> Text:
    said = f"({one.decision or 'not judged'}, evidence {evidence}): {reading}"
    return Text.assemble(_verdict(one.verdict), " ", clean(said), overflow="fold")


def _summary(scorecard: Scorecard) -> RenderableType:
    documentation = scorecard.documentation
    score = (
        f"{documentation.strict} of {documentation.of} variables by the card, "
        f"{documentation.reviewed} of {documentation.of} as reviewed. "
    )
    left_open = len(scorecard.ledger)
    rows: list[tuple[str, RenderableType]] = [
        ("verdicts", _counts(phrasing.verdict_counts(scorecard.claims))),
        ("coverage", phrasing.coverage_words(scorecard)),
        ("chance", phrasing.chance_words(scorecard)),
        ("documented", _text(score + phrasing.rate_words(documentation))),
        ("left open", f"{left_open} setting{'' if left_open == 1 else 's'} (the ledger)"),
        *_agreement_rows(scorecard),
        ("findings", f"{len(scorecard.findings)} between paper, card, code and practice"),
        *_finding_rows(scorecard),
        ("records", _text(phrasing.records_words(scorecard))),
        *(("  custom", _text(phrasing.custom_words(one))) for one in scorecard.custom),
    ]
    for index, one in enumerate(scorecard.not_audited):
        said = f"{one.get('statement', '')} ({one.get('locator', '')}): {one.get('reason', '')}"
        rows.append(("not audited" if index == 0 else "", _text(said)))
    return Group(Rule(style="dim"), pairs(rows))


def _agreement_rows(scorecard: Scorecard) -> Iterable[tuple[str, RenderableType]]:
    documentation = scorecard.documentation
    if documentation.agreement is not None:
        yield "reviewers", _text(phrasing.agreement_words(documentation.agreement))
        for name, said in phrasing.open_disagreements(documentation):
            yield "", _text(f"open: {name}: {said}")


def _finding_rows(scorecard: Scorecard) -> Iterable[tuple[str, RenderableType]]:
    for finding in scorecard.findings:
        said = [f"{finding['kind']}, {finding['as_of']}: {finding['statement']}"]
        if named := ", ".join(name for _, name in phrasing.claims_named(scorecard, finding)):
            said.append(f"Claims: {named}.")
        said.append(f"Measured effect: {phrasing.effect_words(finding)}")
        name = (clean(str(finding["id"])), "bold")
        yield "", Text.assemble(name, " ", clean(" ".join(said)), overflow="fold")
        for response in phrasing.responses_to(scorecard, str(finding["id"])):
            yield "  response", _text(phrasing.response_words(response))


# --- a claim ------------------------------------------------------------------------------------


def _claim(scorecard: Scorecard, claim: ClaimModel) -> RenderableType:
    head = Text.assemble(
        _verdict(claim.verdict),
        "  ",
        (clean(claim.id), "bold"),
        (f"  weight {phrasing.stated(claim.weight)}", "dim"),
        overflow="fold",
    )
    said = _text(f"{claim.statement} ({claim.locator})")
    rows = [*_own_rows(scorecard, claim), *_control_rows(scorecard, claim)]
    rows += [("evidence", phrasing.evidence_words(claim)), ("why", _text(claim.why))]
    part = phrasing.binding_part(claim)
    if part is not None and (power := phrasing.power(part)):
        rows.append(("undecided", _text(power)))
    rows += [("WARNING", _text(warning, "bold")) for warning in phrasing.warnings(claim)]
    if found := ", ".join(name for _, name in phrasing.findings_about(scorecard, claim)):
        rows.append(("findings", _text(found)))
    for response in phrasing.responses_to(scorecard, claim.id):
        rows.append(("response", _text(phrasing.response_words(response))))
    blocks: list[RenderableType] = [head, Padding(said, (0, 0, 0, 2))]
    blocks.append(Padding(pairs(rows), (0, 0, 0, 2)))
    if len(claim.parts) > 1:
        blocks.append(Padding(_parts(claim), (0, 0, 0, 2)))
    return Group(*blocks)


def _own_rows(scorecard: Scorecard, claim: ClaimModel) -> list[tuple[str, RenderableType]]:
    part = phrasing.binding_part(claim)
    if part is None:
        if claim.decision is None:
            return [("estimate", "none")]
        why = phrasing.no_estimate(scorecard, claim.experiment, scorecard.tier, {})
        return [("estimate", _text(f"{claim.decision}: {why}"))]
    line = Text.assemble(f"{part.decision}: ", (phrasing.sentence(part), "bold"), overflow="fold")
    rows: list[tuple[str, RenderableType]] = [("estimate", line)]
    of = f"of {part.measured}" + (" (the part that binds)" if len(claim.parts) > 1 else "")
    rows.append(("", _text(f"{of}; {phrasing.spread(part, claim.seeds)}")))
    rows.append(("tolerance", _text(part.reason)))
    return rows


def _control_rows(scorecard: Scorecard, claim: ClaimModel) -> Iterable[tuple[str, RenderableType]]:
    for name, control in phrasing.controls_of(claim):
        text = Text(overflow="fold")
        said = phrasing.control_words(scorecard, claim, control)
        text.append(clean(f"{control.decision or 'not judged'}: {said}"))
        text.append(f" — {clean(control.why)}")
        yield name.replace("positive", "pos."), text
    if claim.positive_control is None:
        reason = claim.positive_control_missing or "no reason given"
        yield "pos. control", _text(f"none can be constructed: {reason}")


def _parts(claim: ClaimModel) -> RenderableType:
    table = _table("part", "decision", "estimate", "bound", "control")
    binding = phrasing.binding_part(claim)
    for part in claim.parts:
        mark = "* " if part is binding else "  "
        table.add_row(
            _text(_part_name(part)),
            mark + part.decision,
            phrasing.reading(part),
            phrasing.target(part),
            part.control or "—",
        )
    return Group(Text(), table, Text("* the part that binds", style="dim"))


def _part_name(part: PartModel) -> str:
    """The part and its binding condition, without saying the same twice."""
    return part.measured if part.measured.startswith(part.name) else f"{part.name}: {part.measured}"
