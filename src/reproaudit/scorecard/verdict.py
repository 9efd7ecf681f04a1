"""The head of a scorecard: its verdict, a line a claim, choices that matter, questions, ours.

Every sentence is made here, of one claim's answer or of counts; the terminal, the pages and the
exports print them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from itertools import chain
from typing import Any

from reproaudit.audit.documentation import documentation_of
from reproaudit.audit.model import Audit, Reading, Setting, Source, known_tier
from reproaudit.audit.review import Reviews
from reproaudit.checks import Provenance
from reproaudit.formats.numbers import at_words, capital, counted, listed
from reproaudit.formats.outcomes import legend
from reproaudit.formats.scorecard import (
    ChoiceRow,
    ClaimLine,
    DocumentedCounts,
    Head,
    HeadCounts,
    HeadNote,
    HeadQuestion,
    Row,
    TriedValue,
    Whose,
    answers_digest,
)
from reproaudit.formats.verdict import AlternativeAnswer, ClaimAnswer, Outcome
from reproaudit.judge.readings import Panel
from reproaudit.records import Origin
from reproaudit.scorecard.choices import choices_of, joined, tried_of
from reproaudit.scorecard.claims import ClaimText, texts_of
from reproaudit.scorecard.lines import (
    BRIEF_LINE_WORDS,
    MOST_LINE_WORDS,
    Figures,
    answer_words,
    cores_of,
    exceptions_in_brief,
    in_order,
    line_of,
    readings_by_end,
    sides_of,
)
from reproaudit.scorecard.rows import rows_of


@dataclass(frozen=True, eq=False)
class JudgedPaper:
    """What the words of a scorecard are made of: a paper's answers, and what is known of them.

    Attributes:
        tier: as it is stored, with a salt.
        origin: of measurements that are not ours, whose.
        before_bounds: how many results stood before a bound of today.
        panels: each claim before its records, by id; as `rows_of` takes it.
    """

    audit: Audit
    tier: str
    claims: Sequence[ClaimAnswer]
    reviews: Reviews
    origin: Origin | None = None
    before_bounds: int = 0
    panels: Mapping[str, Panel] = field(default_factory=dict)

    @cached_property
    def texts(self) -> tuple[ClaimText, ...]:
        """The claims with their answers."""
        return texts_of(self.audit, self.claims, known_tier(self.tier.partition("-")[0]))

    @cached_property
    def rows(self) -> Mapping[str, Sequence[Row]]:
        """The rows of each claim, by its id."""
        ids = {text.answer.id: text for text in self.texts}
        return {name: rows_of(text, self.panels.get(name)) for name, text in ids.items()}

    @cached_property
    def tried(self) -> Sequence[TriedValue]:
        """Every value that was tried."""
        return tried_of(self.audit, self.texts)

    @cached_property
    def choices(self) -> Sequence[ChoiceRow]:
        """The choices that change an answer."""
        return choices_of(self.audit, self.texts)

    def words(self) -> dict[str, Any]:
        """Return the fields of a scorecard that are words: head, rows, answers and tried."""
        return {
            "head": _fitting_head(self),
            "rows": tuple(chain.from_iterable(self.rows.values())),
            "answers": tuple(map(answer_words, self.texts)),
            "tried": self.tried,
        }


MOST_HEAD_WORDS = 620
"""The most words of a page's first screen, marks and columns counted as words."""


def _fitting_head(judged: JudgedPaper) -> Head:
    """What a reader sees first; it becomes briefer in steps where it has too many words."""
    every = len(_head(judged, Brevity.WHOLE).choices)
    for brevity in Brevity:
        head = _with_count(_head(judged, brevity), every)
        while words_in(head) > MOST_HEAD_WORDS and _has_row_to_spare(head, brevity):
            head = _with_count(head.model_copy(update={"choices": head.choices[:-1]}), every)
        if words_in(head) <= MOST_HEAD_WORDS:
            break
    return head


def _has_row_to_spare(head: Head, brevity: Brevity) -> bool:
    return brevity >= Brevity.ROWS and bool(head.choices) and not head.choices[-1].turns


def _with_count(head: Head, every: int) -> Head:
    """Count the choices that were left out; every one stands with all that were tried."""
    if every == len(head.choices):
        return head
    left = f"{every - len(head.choices)} more: under “Choices tried”."
    return head.model_copy(update={"choices_below": left})


class Brevity(IntEnum):
    """What a head goes without, each with all before it."""

    WHOLE = 0
    FIGURES = 1
    """Nouns of the numbers in the table of choices."""
    CLAUSES = 2
    """Beside the claims' lines, the end of their clauses."""
    ROWS = 3
    """Choices that turn no answer, or only under a less likely guess: as many as it must."""
    QUESTIONS = 4
    """Questions on which no answer hangs."""
    OTHERS = 5
    """In the table of choices, claims that are not the paper's own."""
    OURS = 6
    """At which coordinates we judged, which their lines say."""
    VERDICT = 7
    """In the verdict, both sides of the only claim but main ones that depends."""
    COUNTS = 8
    """In the table of choices, numbers, and other guesses that fail as well; ends of clauses."""
    LINES = 9
    """Where a claim's line has more than twenty words, exceptions in full."""


_FRAME = "# · · read: · **not read: ## · · *Ours:*"
_CHOICES = "**Choices that matter** | choice | as run → instead | what changes | scale | |---|"
_LINKS = "[every number (JSON)] · [records]"


def words_in(head: Head) -> int:
    """Count the words of a head as its page has them, marks, links and columns among them."""
    note = head.note
    parts = [
        *(_FRAME, _LINKS, head.link and "[arXiv 1] ·", head.code and "· [authors' code]"),
        _CHOICES if head.choices else "",
        *(head.title, head.byline, head.scale, head.runs, head.read, head.not_read, head.fold),
        head.stand_in and f"· on a stand-in: {head.stand_in}",
        *head.verdict,
        "" if note is None else f"> {note.text} > — opinion of {note.by}, {note.as_of}",
        *map(_lines_counted, filter(None, (head.own, head.other_side))),
        *(f"| {row.words} | {row.value} → {listed(row.others)} |" for row in head.choices),
        *(f"| {row.scale} |" for row in head.choices),
        *(effect.text for choice in head.choices for effect in choice.effects),
        head.choices_below,
        head.questions_title,
        *(f"1. {question.text}" for question in head.questions),
        head.ours,
    ]
    return sum(len(part.split()) for part in parts)


def _lines_counted(side: Sequence[ClaimLine]) -> str:
    lines = (f"- {line.mark} {'Main: ' * line.main}{line.title} {line.text}" for line in side)
    marks = " · ".join(legend({line.outcome for line in side}))
    return " ".join(["**The paper's own claims** ·", marks, *lines])


MOST_AUTHORS = 6
"""The most authors who are all named."""


def _names(authors: Sequence[str]) -> str:
    """The last names; of many authors the first three and a count."""
    names = [name.split()[-1] for name in authors]
    if len(names) > MOST_AUTHORS:
        return f"{', '.join(names[:3])} and {len(names) - 3} others"
    return ", ".join(names)


def _of_papers(texts: Sequence[ClaimText]) -> list[ClaimText]:
    return [text for text in texts if text.whose in ("paper", "literature")]


def _head(judged: JudgedPaper, brevity: Brevity) -> Head:
    paper = judged.audit.paper
    stand_ins = dict.fromkeys(text.answer.proxy or "" for text in _of_papers(judged.texts))
    stand_in = "" if "" in stand_ins else "; ".join(stand_ins)
    most = BRIEF_LINE_WORDS if brevity >= Brevity.LINES else MOST_LINE_WORDS
    lines = [
        line_of(text, judged.rows[text.answer.id], most, stand_in_is_said=bool(stand_in))
        for text in in_order(judged.texts)
    ]
    digest = answers_digest(judged.audit, judged.tier, judged.claims, judged.origin)
    look_first = " (look in the paper first)" if paper.not_read else ""
    short = (brevity >= Brevity.FIGURES) + (brevity >= Brevity.COUNTS)
    fewest = BRIEFEST_WORDS if brevity >= Brevity.COUNTS else FEWEST_WORDS
    cut = clauses_of(judged.texts, fewest) if brevity >= Brevity.CLAUSES else {}
    return Head(
        title=paper.title,
        byline=" · ".join(filter(None, (_names(paper.authors), paper.published))),
        link=f"https://arxiv.org/abs/{paper.arxiv}" if paper.arxiv else "",
        code=paper.code or "",
        scale=scale_words(judged),
        runs=_runs_words(judged.texts),
        stand_in=stand_in,
        read=listed(paper.read),
        not_read=listed(paper.not_read),
        verdict=tuple(_verdict(judged, briefly=brevity >= Brevity.VERDICT)),
        note=note_of(judged.reviews, digest),
        counts=HeadCounts(
            paper=_ended_as(judged.texts, "paper"),
            others=_ended_as(judged.texts, "literature", "code", "derived"),
            questions=_ended_as(judged.texts, "ours"),
        ),
        claims=tuple(lines),
        choices=joined(_of_whom(judged, own_alone=brevity >= Brevity.OTHERS), short, cut),
        questions=tuple(_questions(judged, every=brevity < Brevity.QUESTIONS)),
        questions_title=f"Questions to the authors{look_first}",
        ours=" ".join(_ours(judged, cut, with_levels=brevity < Brevity.OURS)),
        documented=documented_in(judged.audit, judged.reviews),
        measured_by="" if judged.origin is None else judged.origin.who,
        no_guess_varied=any(value.guess for value in judged.tried)
        and not any(value.cells for value in judged.tried),
        fold=_fold(judged),
    )


FEWEST_WORDS = 5
"""The fewest words of a clause that is cut."""
BRIEFEST_WORDS = 3
"""The same, where the head has too many words."""


def clauses_of(texts: Sequence[ClaimText], fewest: int = FEWEST_WORDS) -> dict[str, str]:
    """Return each claim's clause by its id, cut after some words where no other begins alike."""
    shorts = [[word.rstrip(",") for word in text.claim.short.split()] for text in texts]
    cut: dict[str, str] = {}
    for text, words in zip(texts, shorts, strict=True):
        most = next(
            most
            for most in range(fewest, len(words) + fewest + 1)
            if sum(other[:most] == words[:most] for other in shorts) == 1 or most >= len(words)
        )
        first = " ".join(text.claim.short.split()[:most]).rstrip(",")
        cut[text.answer.id] = text.claim.short if most + 2 >= len(words) else f"{first}…"
    return cut


def _of_whom(judged: JudgedPaper, *, own_alone: bool) -> list[ChoiceRow]:
    """The choices; with what becomes of the paper's own claims and of what depends, if asked."""
    kept_claims = {
        text.answer.id
        for text in judged.texts
        if text.whose == "paper" or text.answer.outcome is Outcome.DEPENDS or not own_alone
    }
    rows = []
    for row in judged.choices:
        kept = tuple(effect for effect in row.effects if effect.claim in kept_claims)
        rows += [row.model_copy(update={"effects": kept})] if kept else []
    return rows


def documented_in(audit: Audit, reviews: Reviews) -> DocumentedCounts:
    """Return how many variables the card and the reviewers find documented."""
    found = documentation_of(audit, reviews)
    return DocumentedCounts(card=found.card, by_reviewers=found.by_reviewers, of=found.of)


def scale_words(judged: JudgedPaper) -> str:
    """Return the scale of the records."""
    tier, _, salt = judged.tier.partition("-")
    if tier != "paper":
        return {"quick": "reduced scale", "smoke": "smoke: nothing is judged"}[tier]
    if judged.origin is not None:
        return "scale as measured"
    claims = _of_papers(judged.texts)
    smaller = [text for text in claims if text.answer.proxy or text.is_reduced]
    words = "the paper's own scale"
    if len(smaller) == 1:
        words += f" but for “{clauses_of(judged.texts)[smaller[0].answer.id]}”"
    elif smaller:
        words = "partly the paper's scale"
    if claims and smaller == claims:
        words = "our largest scale"
    return f"{words}, seeds drawn with '{salt}'" if salt else words


def _runs_words(claims: Sequence[ClaimText]) -> str:
    counts = sorted({claim.base.n for claim in claims if claim.base.n})
    if len(counts) > 1:
        return f"{counts[0]} to {counts[-1]} runs a claim"
    return "".join(f"{counted(count, 'run')} a claim" for count in counts)


def note_of(reviews: Reviews, answers: str) -> HeadNote | None:
    """Return the note of a scorecard with these answers, by their digest."""
    note = reviews.note
    if note is None:
        return None
    stale = note.answers != answers
    return HeadNote(text=note.text, by=note.reviewer, as_of=note.as_of, stale=stale)


def _ended_as(texts: Sequence[ClaimText], *whose: Whose) -> dict[Outcome, int]:
    found = Counter(text.answer.outcome for text in texts if text.whose in whose)
    return {outcome: found[outcome] for outcome in Outcome if found[outcome]}


# --- the verdict ----------------------------------------------------------------------------------

_HOLDS: Mapping[Outcome, tuple[str, str]] = {
    Outcome.SUPPORTED: ("holds", "hold"),
    Outcome.PARTLY_SUPPORTED: ("holds in part", "hold in part"),
    Outcome.DEPENDS: ("depends on {choice}", "depend on {choice}"),
    Outcome.NOT_SUPPORTED: ("does not hold", "do not hold"),
    Outcome.UNINFORMATIVE: ("tells nothing", "tell nothing"),
    Outcome.UNDECIDED: ("is open", "are open"),
    Outcome.NOT_TESTED: ("was not tested", "were not tested"),
    Outcome.ERROR: ("has no answer, since runs crashed", "have no answer, since runs crashed"),
}
"""What is said of one claim, and of several, in the order of the second sentence."""


def _verdict(judged: JudgedPaper, *, briefly: bool) -> Iterator[str]:
    claims = [text for text in judged.texts if text.whose == "paper"]
    failed = sum(bool(text.base.crashed) for text in judged.texts)
    main = [claim for claim in claims if claim.claim.main]
    others = [claim for claim in claims if not claim.claim.main]
    if judged.tier == "smoke" and failed:
        yield f"The smoke tier judges nothing; runs of {counted(failed, 'claim')} failed."
    elif judged.tier == "smoke":
        yield "The smoke tier shows that every experiment runs; it judges nothing."
    elif not judged.texts:
        yield "No claim of this paper is judged; its documentation is."
    elif not claims:
        yield "No claim of the paper's own is judged."
    else:
        yield from [f"{_main(main)}."] if main else []
        yield from [f"{_others(others, bool(main), briefly=briefly)}."] if others else []


def _main(main: Sequence[ClaimText]) -> str:
    """Each main claim with its k of n, and the numbers that other stated values miss."""
    more = ["".join(f"; {words}" for words in _elsewhere(claim, "against")) for claim in main]
    if len(main) == 1:
        return f"The main claim {_ended(main[0])}: {main[0].claim.short}{more[0]}"
    outcomes = {claim.answer.outcome for claim in main}
    if len(outcomes) > 1 or Outcome.DEPENDS in outcomes:
        each = [f"“{claim.claim.short}” {_ended(claim)}" for claim in main]
        return f"Main claims: {'; '.join(each)}"
    both = "Both" if len(main) == 2 else f"All {len(main)}"
    each = [
        f"{claim.claim.short}, {_core(claim)}{others}"
        for claim, others in zip(main, more, strict=True)
    ]
    return f"{both} main claims {_HOLDS[outcomes.pop()][1]}: {'; '.join(each)}"


def _ended(claim: ClaimText) -> str:
    """How a claim ended, with k of n: holds, 15 of 15; of one that depends, under which values."""
    if claim.answer.outcome is Outcome.DEPENDS:
        yes, no = sides_of(claim)
        return f"holds {yes}, but not {no}"
    return f"{_HOLDS[claim.answer.outcome][0]}, {_core(claim)}"


def _core(claim: ClaimText) -> str:
    """What was found, in brief; why it is open, in full."""
    cores = cores_of(claim)
    named = cores[:-1] or cores
    return named[-1] if claim.answer.outcome is Outcome.UNDECIDED else cores[-1]


def _elsewhere(claim: ClaimText, figures: Figures = "") -> list[str]:
    """How a claim ended under other stated values: open with 10 pairs, 0 of 15."""
    if claim.answer.outcome is Outcome.DEPENDS:
        return []
    ends = readings_by_end(claim, figures)
    return [f"{how} {', and '.join(values)}" for how, values in ends.items()]


def _others(others: Sequence[ClaimText], after_main: bool, *, briefly: bool) -> str:
    """What does not plainly hold: the only claim that depends in full, the rest counted."""
    groups = {
        outcome: same
        for outcome in _HOLDS
        if (same := [claim for claim in others if claim.answer.outcome is outcome])
    }
    named = ""
    for outcome in () if briefly else (Outcome.DEPENDS, Outcome.NOT_SUPPORTED):
        if len(groups.get(outcome, ())) == 1 and not named:
            (claim,) = groups.pop(outcome)
            elsewhere = "".join(f", {words}" for words in _elsewhere(claim))
            named = f"“{capital(claim.claim.short)}” {_ended(claim)}{elsewhere}"
    more = " more" if after_main else ""
    parts: list[str] = []
    for outcome, same in groups.items():
        verb = _HOLDS[outcome][len(same) > 1].format(choice=_hangs_on(same))
        parts.append(f"{len(same)}{'' if parts else more} {verb}")
    return "; ".join(filter(None, (named, listed(parts))))


def _hangs_on(claims: Sequence[ClaimText]) -> str:
    """The settings on which claims depend, and whether we guessed them."""
    names = []
    for claim in claims:
        sides = claim.answer.sides or ()
        guess = " (a guess)" * any(isinstance(side, AlternativeAnswer) for side in sides)
        varied = [one for side in sides if side.varied is not None for one in side.varied.every]
        names += [f"{claim.setting(one.setting)}{guess}" for one in varied]
    return listed(list(dict.fromkeys(names)))


# --- questions, and what is ours ------------------------------------------------------------------


def _questions(judged: JudgedPaper, *, every: bool) -> Iterator[HeadQuestion]:
    """What to ask the authors: what the audit asks, and each choice that turns an answer, once.

    Values that the paper itself states are two experiments, and no question; nor is what we ask,
    nor that two papers differ, unless the audit asks it.
    """
    settings = judged.audit.every_setting()
    told: set[str] = set()
    turning = [choice for choice in judged.choices if choice.turns]
    alone = {choice.setting for choice in turning if not choice.also}
    for choice in turning:
        names = (choice.setting, *choice.also)
        chosen = [settings[name] for name in names]
        text = (None if choice.also else chosen[0].ask) or _question(choice)
        if (
            text in told
            or (choice.also and not alone.isdisjoint(names))
            or any(one.ours for one in chosen)
            or all(map(_is_no_question, chosen))
            or (not chosen[0].ask and any(map(_is_between_papers, chosen)))
        ):
            continue
        told.add(text)
        evidence = [effect.text for effect in choice.effects]
        evidence += [
            f"{finding.statement} ({listed(finding.sources)})"
            for finding in judged.audit.findings
            if not {*names}.isdisjoint(finding.settings)
        ]
        yield HeadQuestion(text=text, evidence=tuple(evidence))
    for setting in settings.values() if every else ():
        if setting.ask and setting.ask not in told:
            told.add(setting.ask)
            yield HeadQuestion(text=setting.ask)


def _is_no_question(setting: Setting) -> bool:
    """Whether the paper states every value that somebody states, or nobody states another."""
    stated = [reading.source for reading in setting.readings if not reading.ours]
    return bool(setting.readings) and (not stated or {setting.source, *stated} == {Source.PAPER})


def _is_between_papers(setting: Setting) -> bool:
    stated: Sequence[Setting | Reading] = [setting, *setting.readings]
    return any(value.who or value.source is Source.REPRODUCTION for value in stated)


def _question(choice: ChoiceRow) -> str:
    if choice.guess:
        return f"{capital(choice.words)}? We took {choice.value}."
    return f"{capital(choice.words)}: {listed([choice.value, *choice.others], 'or')}?"


def _fold(judged: JudgedPaper) -> str:
    """How many claims stand apart, by whose they are and how they ended, and what they miss."""
    names: Mapping[Whose, tuple[str, str]] = {
        "code": ("claim", "of the code alone"),
        "derived": ("claim", "that we derived"),
        "ours": ("question", "of ours"),
    }
    clauses = clauses_of(judged.texts)
    parts = []
    for whose, (noun, which) in names.items():
        outcomes = _ended_as(judged.texts, whose)
        missed = [
            f"“{clauses[text.answer.id]}”, {words}"
            for text in judged.texts
            if text.whose == whose and text.answer.outcome is Outcome.SUPPORTED
            for words in exceptions_in_brief(text, judged.rows[text.answer.id])
        ]
        ended = [
            f"{outcomes[outcome]} {verbs[outcomes[outcome] > 1].format(choice='a choice')}"
            for outcome, verbs in _HOLDS.items()
            if outcome in outcomes
        ]
        if ended:
            some = f"{counted(sum(outcomes.values()), noun)} {which} ({listed(ended)})"
            parts.append(", ".join([some, *missed]))
    return f"Apart: {'; '.join(parts)}." if parts else ""


def _ours(judged: JudgedPaper, clauses: Mapping[str, str], *, with_levels: bool) -> Iterator[str]:
    """Whose answers our bounds decide, and what else is ours; claims by their clauses."""
    known = ", which we set knowing earlier results," if judged.before_bounds else ""
    if changed := _changed_by_bounds(judged.texts, clauses):
        yield f"If our bounds{known} were half or twice as wide, {changed}."
    made = [*(_levels(judged) if with_levels else ()), *_made_by_us(judged, clauses)]
    if made:
        yield f"We {listed(made)}."


def _changed_by_bounds(claims: Sequence[ClaimText], clauses: Mapping[str, str]) -> str:
    """Whose answers would change with every bound of ours half or twice as wide."""
    arms = [arm for claim in claims for arm in (claim.base, *claim.answer.support)]
    origins = {estimate.limit.origin for arm in arms for estimate in arm.estimates}
    if Provenance.OURS not in origins:
        return ""
    turned = [claim for claim in claims if claim.answer.other_bounds]
    if not turned:
        return "no answer would change"
    names = [f"“{clauses.get(claim.answer.id, claim.claim.short)}”" for claim in turned]
    answers = "this answer" if len(turned) == 1 else "these answers"
    return f"{answers} would change: {listed(names)}"


def _levels(judged: JudgedPaper) -> list[str]:
    levels = set()
    for text in judged.texts:
        grade = text.claim.grade
        if grade is not None and grade.origin == "ours":
            ordered = sorted(grade.primary, key=lambda place: (isinstance(place, str), place))
            levels.add(f"at {text.symbol} = {listed(list(map(at_words, ordered)))}")
    return [f"judged {listed(sorted(levels))}"] if levels else []


MOST_RECALLED = 2
"""The most claims worded from memory that are named; more are counted."""


def _made_by_us(judged: JudgedPaper, clauses: Mapping[str, str]) -> Iterator[str]:
    """What we did, each a verb with its object."""
    guesses = {value.setting for value in judged.tried if value.guess}
    varied = {value.setting for value in judged.tried if value.guess and value.cells}
    if guesses:
        some = counted(len(guesses), "setting")
        partly = f"guessed {some} ({len(varied)} varied)"
        yield f"guessed and varied {some}" if varied == guesses else partly
    recalled = [text for text in judged.texts if text.claim.wording == "recalled"]
    names = [f"“{clauses.get(text.answer.id, text.claim.short)}”" for text in recalled]
    if recalled:
        some = listed(names) if len(names) <= MOST_RECALLED else counted(len(names), "claim")
        yield f"worded {some} from memory"
    if left := len(judged.audit.not_audited):
        yield f"left out {counted(left, 'claim')}"
