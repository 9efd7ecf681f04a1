"""A second reader of a scorecard's pages, by code that they are not made with.

`faults` holds every number and count that Markdown and HTML print against what `recount` computes
from records and audit, every word of outcome against the numbers beside it, and looks whether each
check that is not met stands in Markdown, HTML and terminal.
"""

import re
from collections.abc import Iterator, Sequence

from printed import (
    Node,
    Printed,
    TableRow,
    bullets,
    cells,
    claim_rows,
    html_page,
    numbers_in,
    plain_markdown,
    sections,
    terminal_items,
)
from recount import OWN_ROLES, PAIR, Sheet, Tally, share_of, whole
from reproaudit.audit.arms import Role
from reproaudit.audit.documentation import documentation_of
from reproaudit.audit.model import Claim
from reproaudit.formats.verdict import Answer, Outcome

MARKS = {
    Outcome.SUPPORTED: "✓",
    Outcome.PARTLY_SUPPORTED: "◐",
    Outcome.DEPENDS: "⇄",
    Outcome.NOT_SUPPORTED: "✗",
    Outcome.UNDECIDED: "?",
    Outcome.UNINFORMATIVE: "○",
    Outcome.NOT_TESTED: "–",
    Outcome.ERROR: "!",
}
VERBS = {
    Outcome.PARTLY_SUPPORTED: r"holds? in part",
    Outcome.DEPENDS: r"depends? on",
    Outcome.NOT_SUPPORTED: r"(?:does|do) not hold",
    Outcome.UNINFORMATIVE: r"tells? nothing",
    Outcome.UNDECIDED: r"(?:is|are) open",
    Outcome.NOT_TESTED: r"(?:was|were) not tested",
    Outcome.ERROR: r"(?:has|have) no answer",
    Outcome.SUPPORTED: r"holds?",
}
PREFIXES = {
    Role.CONTROL: "control: ",
    Role.POSITIVE_CONTROL: "should succeed: ",
    Role.ALTERNATIVE: "guess: ",
    Role.COMPARED: "compared with: ",
}
COUNTED = re.compile(
    r"(?P<count>(?<![\d.,])\d+ of \d+(?![.,]?\d)(?:; in \d+ more it cannot be read)?"
    r"|none of \d+ can be read)(?: each)?(?: \((?P<numbers>[^()]*)\))?"
)
"""A count of runs, and the numbers after it."""
MISSED = re.compile(r"but (a|\d+) (further|stricter) checks? in")


def faults(sheet: Sheet, html: str, markdown: str, terminal: Sequence[str]) -> list[str]:
    """Return all that differs, one line each."""
    page = html_page(html)
    text = plain_markdown(markdown)
    found = [
        *_of_head(sheet, "HTML", _html_head(page)),
        *_of_head(sheet, "Markdown", _markdown_head(text)),
        *_of_answers(sheet, "HTML", _html_answers(page)),
        *_of_answers(sheet, "Markdown", _markdown_answers(text)),
        *_of_counts(sheet, page, text),
    ]
    claims = sections(text.partition("\n## Claims\n")[2], "###")
    items = terminal_items(terminal)
    for name in sheet.claims:
        article = page.first("article", id=name)
        found += _of_table(sheet, name, article)
        found += _of_sentences(sheet, name, "HTML", _html_sentences(article))
        if name not in claims:
            found.append(f"Markdown, {name}: the claim is absent")
            continue
        found += _of_bullets(sheet, name, claims[name])
        printed = [item.partition(": ")[2] for item in items if item.startswith(f"{name}: ")]
        found += _of_unmet_counts(sheet, name, printed)
    return found


# --- the rows of a claim in HTML ------------------------------------------------------------------


def _of_table(sheet: Sheet, name: str, article: Node) -> Iterator[str]:
    """What differs in a claim's table, each of whose rows is one tally's."""
    left = list(sheet.tallies[name])
    for row in claim_rows(article):
        where = f"HTML, {name}, {row.arm}"
        fitting = [tally for tally in left if _is_labelled(tally, row)]
        tally = next((tally for tally in fitting if _is_counted(tally, row)), None)
        if tally is None:
            expected = "; ".join(_expected(tally) for tally in fitting) or "no such arm"
            yield f"{where}: {row.count} ({row.numbers}), expected {expected}"
            continue
        left.remove(tally)
        yield from (f"{where}: {fault}" for fault in _of_decision(sheet, name, tally, row))
    for tally in _unmet(sheet, name):
        if tally in left:
            yield f"HTML, {name}, {tally.planned.name} {tally.at}: a row that is not met is absent"


def _is_labelled(tally: Tally, row: TableRow) -> bool:
    prefix = PREFIXES.get(tally.planned.role, "")
    others = [other for other in PREFIXES.values() if other != prefix]
    if tally.place != row.place or row.own is not (tally.planned.role in OWN_ROLES):
        return False
    if not row.arm.startswith(prefix) or any(map(row.arm.startswith, others)):
        return False
    named = any(word and word in row.arm for word in tally.words)
    placed = row.arm.endswith(f", {tally.at}") if tally.at else not tally.symbol_in(row.arm)
    return named and (placed or not tally.values)


def _is_counted(tally: Tally, row: TableRow) -> bool:
    return row.count == _count_words(tally) and _are_numbers_of(tally, row.numbers)


def _count_words(tally: Tally) -> str:
    if not tally.n:
        return f"none of {tally.apart} can be read"
    aside = f"; in {tally.apart} more it cannot be read" if tally.apart else ""
    return f"{tally.yes} of {tally.n}{aside}"


def _are_numbers_of(tally: Tally, text: str) -> bool:
    """Whether typical and farthest run, or the mean with its interval, are those of a tally."""
    printed = numbers_in(text)
    if not printed:
        return not tally.values or tally.number_is_unsaid
    if tally.mean is not None:
        return text.startswith("mean ") and _are_of(printed, tally.mean)
    if tally.typical is None or tally.farthest is None:
        return False
    first, _, far = text.partition("; beyond the bound ")
    first, _, farthest = first.partition(", farthest ")
    sides = ((first, tally.typical), (farthest, tally.farthest))
    for said, value in sides:
        is_right = said.startswith(tally.censored(value)) and _are_of(numbers_in(said), [value])
        if said and not is_right:
            return False
    beyond = numbers_in(far)
    if any(number.unit != printed[0].unit for number in beyond):
        return False
    in_order = sorted(tally.far, key=tally.distance, reverse=True)
    return _are_of(beyond, in_order)


def _are_of(printed: Sequence[Printed], values: Sequence[float]) -> bool:
    pairs = zip(printed, values, strict=False)
    return len(printed) == len(values) and all(number.is_of(value) for number, value in pairs)


def _expected(tally: Tally) -> str:
    values = (tally.typical, tally.farthest) if tally.mean is None else tally.mean
    numbers = ", ".join(f"{value:.4g}" for value in values if value is not None)
    return f"{_count_words(tally)} ({numbers}; far {tally.far})"


def _of_decision(sheet: Sheet, name: str, tally: Tally, row: TableRow) -> Iterator[str]:
    """What a row's word of decision says against its own numbers."""
    word, _, reason = row.decision.partition(": ")
    if word not in tally.decisions:
        yield f"'{word}' beside {row.count}, expected {' or '.join(tally.decisions)}"
    numbers = numbers_in(row.numbers)
    if numbers and tally.mean is None and tally.is_plain:
        number = numbers[0]
        value = number.value / (100 if number.unit == "%" else 1)
        is_met = tally.meets(value) or number.is_of(tally.bound)
        if (word == "met" and not is_met) or (word == "missed" and tally.meets(value)):
            yield f"'{word}' beside {number.text}, whose bound is {tally.bound:g}"
    yield from (f"'{fault}' is unexplained" for fault in sheet.explained(name, reason))
    controls = [other for other in sheet.tallies[name] if other.planned.role is Role.CONTROL]
    by_mean = any(other.mean is not None for other in controls)
    for k, n in re.findall(r"passes, too, in (\d+) of (\d+)", reason):
        if 2 * int(k) <= int(n) and not by_mean:
            yield f"a control that passes in {k} of {n}"


def _unmet(sheet: Sheet, name: str) -> list[Tally]:
    """What each rendering has to print: own runs and stated readings that do not meet a check."""
    answer = sheet.answered[name]
    grade = sheet.claims[name].grade
    primary = {""} if grade is None else {"", *(f"{grade.symbol} = {at}" for at in grade.primary)}
    return [
        tally
        for tally in sheet.tallies[name]
        if tally.is_unmet
        and tally.said
        and (tally.planned.name == answer.base.name or tally.at in primary or not grade)
    ]


# --- sentences on a claim -------------------------------------------------------------------------


def _html_sentences(article: Node) -> list[str]:
    texts = [article.first("h3").text, article.first("p", class_="small").text]
    texts += [node.text for tag in ("dd", "li") for node in article.all(tag)]
    texts += [node.text for node in article.all("span", class_="short")]
    return texts + [row.own_text for row in article.all("th", scope="rowgroup")]


def _of_sentences(sheet: Sheet, name: str, page: str, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        for fault in (*sheet.explained(name, text), *_of_words(text)):
            yield f"{page}, {name}: '{fault}' is unexplained in: {text[:120]}"


def _of_words(text: str) -> Iterator[str]:
    """What is said to hold in fewer than half of the runs, and not to hold in more."""
    with_value = r"(?:as run|with [^;:]*?), (\d+) of (\d+)"
    for k, n in re.findall(rf"\bholds {with_value}", text):
        if 2 * int(k) <= int(n):
            yield f"holds, {k} of {n}"
    for k, n in re.findall(rf"\bnot {with_value}", text):
        if 2 * int(k) > int(n):
            yield f"not, {k} of {n}"


def _of_bullets(sheet: Sheet, name: str, section: str) -> Iterator[str]:
    """What differs in a claim's section of Markdown."""
    points = bullets(section)
    yield from _of_sentences(sheet, name, "Markdown", section.replace("**", "").splitlines())
    for point in points:
        for said in COUNTED.finditer(point.replace("**", "")):
            if not _is_said(sheet, name, said["count"], said["numbers"] or ""):
                yield f"Markdown, {name}: {said[0]} is no row of it"
    bold = [" ".join(re.findall(r"\*\*(.*?)\*\*", point)) for point in points]
    yield from _of_unmet(sheet, name, "Markdown", bold)


def _is_said(sheet: Sheet, name: str, count: str, numbers: str) -> bool:
    """Whether a count, and the numbers after it, are those of a tally, or of several alike."""
    same = [tally for tally in sheet.tallies[name] if _count_words(tally) == count]
    if not numbers or any(_are_numbers_of(tally, numbers) for tally in same):
        return bool(same) or sheet.knows(name, count)
    each = [
        part
        for part in re.split(r", (?![^\[]*\])(?=[^,]*\d)", numbers)
        if not any(_are_numbers_of(tally, part) for tally in same)
    ]
    return not each


def _of_unmet(sheet: Sheet, name: str, page: str, texts: Sequence[str]) -> Iterator[str]:
    """The conditions that are not met and stand in no text of their own."""
    left = list(texts)
    unmet = _unmet(sheet, name)
    for place in dict.fromkeys(tally.place for tally in unmet):
        tallies = [tally for tally in unmet if tally.place == place]
        whole = [text for text in left if all(_stands_in(tally, text) for tally in tallies)]
        if whole:
            left.remove(whole[0])
            continue
        for tally in tallies:
            if not any(_stands_in(tally, text) for text in left):
                yield (
                    f"{page}, {name}, {tally.planned.name} {tally.at}: {_expected(tally)}, "
                    f"{tally.decisions[0]}, is absent"
                )


def _of_unmet_counts(sheet: Sheet, name: str, texts: Sequence[str]) -> Iterator[str]:
    """The conditions that own runs miss and a terminal does not count."""
    base = sheet.answered[name].base.name
    for tally in _unmet(sheet, name):
        is_missed = tally.planned.name == base and tally.yes < tally.n
        counted = f"{tally.yes} of {tally.n}"
        if is_missed and not any(counted in text and tally.at in text for text in texts):
            yield f"terminal, {name}, {tally.planned.name} {tally.at}: {counted} is absent"


def _stands_in(tally: Tally, text: str) -> bool:
    value = tally.typical if tally.mean is None else tally.mean[0]
    numbers = numbers_in(re.sub(PAIR, "§", text))
    is_there = value is None or tally.number_is_unsaid or any(n.is_of(value) for n in numbers)
    said = any(word in text for word in tally.decisions)
    return _count_words(tally) in text and tally.at in text and said and is_there


# --- the head -------------------------------------------------------------------------------------

Head = dict[str, list[list[str]]]
"""Verdict, lines (mark, title, text), fold, choices (cells), tried and ours, as lists of texts."""


def _html_head(page: Node) -> Head:
    lead = page.first("section", class_="lead")
    lines = []
    listed = [item for side in lead.all("ul", class_="lines") for item in side.all("li")]
    for item in listed:
        mark = item.first("span").text
        title = item.first("a").text
        lines.append([mark, title, item.text.partition(f"{title}:")[2].strip()])
    matter = lead.first("table", class_="matter").first("tbody")
    choices = []
    for row in matter.all("tr"):
        effects = "; ".join(effect.text for effect in row.all("p"))
        choices.append([row.first("th").text, row.first("td").text, effects])
    folds = [node.text for node in lead.all("p", class_="small")]
    return {
        "verdict": [[lead.first("p", class_="verdict").text]],
        "lines": lines,
        "fold": [[text] for text in folds if text.startswith("Apart")],
        "choices": choices,
        "ours": [[lead.first("p", class_="ours").text]],
    }


def _markdown_head(text: str) -> Head:
    head, _, rest = text.partition("\n## Answers\n")
    verdict = re.search(r"^## (.*)$", head, flags=re.MULTILINE)
    lines = []
    for point in bullets(head):
        mark, _, said = point.partition(" ")
        title, _, words = said.replace("**", "").removeprefix("Main: ").partition(": ")
        lines.append([mark, title, words])
    folds = re.findall(r"^Apart: .*$", head, flags=re.MULTILINE)
    ours = re.findall(r"^\*Ours:\* .*$", head, flags=re.MULTILINE)
    tried = cells(rest.partition("\n## Choices tried\n")[2].partition("\n## ")[0])
    return {
        "verdict": [[verdict[1] if verdict else ""]],
        "lines": lines,
        "fold": [[fold] for fold in folds],
        "choices": cells(head),
        "tried": tried,
        "ours": [[text] for text in ours],
    }


def _of_head(sheet: Sheet, page: str, head: Head) -> Iterator[str]:
    own = [*sheet.of("paper"), *sheet.of("literature")]
    titles = [title.removeprefix("Main: ").lower() for _, title, _ in head["lines"]]
    expected = sorted(claim.short.lower() for claim in own)
    if sorted(titles) != expected:
        yield f"{page}: lines on {sorted(titles)}, expected {expected}"
    shorts = [claim.short.lower() for claim in own]
    for mark, title, text in head["lines"]:
        same = [
            claim for claim in own if claim.short.lower() == title.removeprefix("Main: ").lower()
        ]
        problems = [[*_of_line(sheet, claim, mark, text)] for claim in same]
        yield from (
            f"{page}, line on {title}: {fault}" for fault in min(problems, default=[], key=len)
        )
    for (text,) in head["verdict"]:
        yield from (f"{page}, verdict: {fault}" for fault in _of_verdict(sheet, text, shorts))
    for (text,) in head["fold"]:
        yield from (f"{page}, {fault}" for fault in _of_fold(sheet, text))
    for kind in ("choices", "tried"):
        for _, _, effects, *_ in head.get(kind, ()):
            found = _of_effects(sheet, effects, is_clear=kind == "choices")
            yield from (f"{page}, {kind}: {fault}" for fault in found)
    for (text,) in head["ours"]:
        yield from (f"{page}, ours: {fault}" for fault in _of_ours(sheet, text))


def _of_line(sheet: Sheet, claim: Claim, mark: str, text: str) -> Iterator[str]:
    """What a claim's mark and text say against its runs and each other."""
    name = claim.id.partition(".")[2]
    outcome = sheet.answered[name].outcome
    if mark != MARKS[outcome]:
        yield f"{mark} of a claim that is {outcome}"
    yield from _of_missed(sheet, name, text)
    said = MISSED.sub("", text)
    yield from (f"'{fault}' is unexplained" for fault in sheet.explained(name, said))
    yield from _of_words(text)
    counts = [(int(k), int(n)) for k, n in re.findall(PAIR, text)]
    most = [2 * k > n for k, n in counts]
    if mark == MARKS[Outcome.SUPPORTED] and most and not most[0]:
        yield f"holds with {counts[0][0]} of {counts[0][1]}"
    if mark == MARKS[Outcome.NOT_SUPPORTED] and most and most[0]:
        yield f"does not hold with {counts[0][0]} of {counts[0][1]}"
    if mark == MARKS[Outcome.DEPENDS] and most[:1] == most[1:2]:
        yield f"depends, and its sides agree: {text}"
    yield from _of_hanging(sheet, name, text)
    yield from _of_coordinates(sheet, name, text)
    near = re.search(r": ([^:;]*), (we allow|we ask(?: above| below)?) (\S+(?: %)?)", text)
    if near and mark in "✗?" and not text.startswith("but"):
        yield from _of_near(near[1], near[2], near[3])


def _of_hanging(sheet: Sheet, name: str, text: str) -> Iterator[str]:
    """What is said to hang on our bound, and would not be met with it relaxed."""
    sides = sheet.sides(name)
    for k, n in re.findall(
        r"misses our bound \(within twice it\)(?: with [^;:]*?)?, (\d+) of (\d+)", text
    ):
        if ((int(k), int(n)), Answer.NEAR) not in sides:
            yield f"misses our bound (within twice it), {k} of {n}"


def _of_coordinates(sheet: Sheet, name: str, text: str) -> Iterator[str]:
    """The coordinates that end otherwise than the claim and stand in no word of its line."""
    answer = sheet.answered[name]
    grades = answer.grades
    if answer.outcome is Outcome.SUPPORTED:
        otherwise = [grade for grade in grades if grade.answer is not Answer.YES]
    else:
        otherwise = [*grades] if len({grade.answer for grade in grades}) > 1 else []
    for grade in otherwise:
        at = grade.at.replace("_", " ") if isinstance(grade.at, str) else f"{grade.at or 0:g}"
        if not re.search(rf"(?<![\w.]){re.escape(at)}(?![\w.]*\d)", text.replace(",", "")):
            yield f"{at}, where the answer is {grade.answer}, is absent"


def _of_missed(sheet: Sheet, name: str, text: str) -> Iterator[str]:
    """The counts of checks beside the headline that are missed."""
    base = sheet.answered[name].base.name
    for k, kind in MISSED.findall(text):
        missed = {
            tally.place
            for tally in sheet.tallies[name]
            if tally.planned.name == base
            and tally.role == kind
            and tally.is_unmet
            and tally.yes < tally.n
        }
        if (1 if k == "a" else int(k)) != len(missed):
            yield f"{k} {kind} checks missed, expected {len(missed)}"


def _of_near(said: str, verb: str, bound: str) -> Iterator[str]:
    """A number that is said to miss a bound, and meets it."""
    numbers = numbers_in(said)[-1:]
    bounds = numbers_in(bound)
    if numbers and bounds:
        upper = verb in ("we allow", "we ask below")
        number, limit = numbers[0].value, bounds[0].value
        if (number < limit) if upper else (number > limit):
            yield f"misses its bound with {said}, {verb} {bound}"


def _of_verdict(sheet: Sheet, text: str, shorts: Sequence[str]) -> Iterator[str]:
    """The counts of claims in the verdict, and what holds in how many runs."""
    own = sheet.of("paper")
    named = [claim for claim in own if f"“{claim.short}”".lower() in text.lower()]
    rest = [claim for claim in own if not claim.main and claim not in named]
    tail = text.rpartition("; ")[2] if named else text.rpartition(": ")[2].rpartition(". ")[2]
    for outcome, k in _counted(tail).items():
        expected = sum(sheet.outcome(claim) is outcome for claim in rest)
        if k != expected:
            yield f"{k} claims said to be {outcome}, expected {expected}"
    main = [claim for claim in own if claim.main]
    if any(sheet.outcome(claim) is not Outcome.SUPPORTED for claim in main):
        claims = re.search(r"^(?:The main claim holds,|(?:Both|All \d+) main claims hold:)", text)
        yield from ["the main claim does not hold"] if claims else []
    yield from _of_words(text)
    bare = text
    for short in shorts:
        bare = re.sub(re.escape(short), "§", bare, flags=re.IGNORECASE)
    for k, n in re.findall(PAIR, sheet.bare(bare)):
        if not any(sheet.knows(name, f"{k} of {n}") for name in sheet.claims):
            yield f"{k} of {n} is unexplained"


def _counted(text: str) -> dict[Outcome, int]:
    """How many claims are said to have which outcome."""
    counts = {}
    for outcome, verb in VERBS.items():
        for k in re.findall(rf"(?<![\w.])(\d+)(?: more)? {verb}(?! in part)\b", text):
            counts[outcome] = int(k)
    return counts


def _of_fold(sheet: Sheet, text: str) -> Iterator[str]:
    """The counts of claims of the code and derivation, and of our questions."""
    nouns = {
        "code": r"claims? of the code",
        "derived": "claims? that we",
        "ours": "questions? of ours",
    }
    for whose, noun in nouns.items():
        claims = sheet.of(whose)
        said = re.search(rf"(\d+) {noun}[^(]*\(([^)]*)\)", text)
        if (int(said[1]) if said else 0) != len(claims):
            yield f"fold: {said and said[0]}, expected {len(claims)} of {whose}"
        for outcome, k in (_counted(said[2]) if said else {}).items():
            if k != sum(sheet.outcome(claim) is outcome for claim in claims):
                yield f"fold: {k} of {whose} said to be {outcome}"


def _of_effects(sheet: Sheet, text: str, *, is_clear: bool) -> Iterator[str]:
    """What changes under a value: both sides are counted, and differ, from or to a clear answer."""
    by_short = sorted(sheet.claims.items(), key=lambda pair: len(pair[1].short), reverse=True)
    for part in text.split("; "):
        name = next((name for name, claim in by_short if part.startswith(f"{claim.short}: ")), None)
        if name is None:
            continue
        said = part.removeprefix(f"{sheet.claims[name].short}: ")
        yield from (f"'{fault}' is unexplained in: {part}" for fault in sheet.explained(name, said))
        both = re.match(r"(\d+)(?: of (\d+))? → (\d+) of (\d+)", said)
        sides = [int(at or both[4]) for at in both.groups()] if both else []
        if sides and not _are_sides(sheet, name, sides, is_clear=is_clear):
            yield f"the sides agree, or neither says yes or no: {part}"


def _are_sides(sheet: Sheet, name: str, sides: Sequence[int], *, is_clear: bool) -> bool:
    """Whether two counts belong to settings that answer otherwise, and both are judged."""
    k, n, other, of_other = sides
    answers = sheet.sides(name)
    pairs = {
        (here, there)
        for count, here in answers
        for of_count, there in answers
        if count == (k, n) and of_count == (other, of_other)
    }
    clear = {Answer.YES, Answer.NO}
    return any(
        here is not there
        and Answer.UNFINISHED not in (here, there)
        and not (is_clear and clear.isdisjoint({here, there}))
        for here, there in pairs
    )


def _of_ours(sheet: Sheet, text: str) -> Iterator[str]:
    audit = sheet.audit
    left = re.search(r"left out (\d+) claim", text)
    if int(left[1] if left else 0) != len(audit.not_audited):
        yield f"{len(audit.not_audited)} claims were left out: {text}"
    recalled = [claim.short for claim in sheet.claims.values() if claim.wording == "recalled"]
    worded = re.search(r"worded (.*?) from memory", text)
    names = re.findall("“([^”…]*)…?”", worded[1]) if worded else []
    counted = re.match(r"\d+", worded[1]) if worded else None
    named = [*zip(recalled, names, strict=False)]
    if (int(counted[0]) if counted else len(names)) != len(recalled):
        yield f"{len(recalled)} claims are worded from memory: {text}"
    yield from (f"not worded from memory: {name}" for short, name in named if name not in short)
    changed = re.search(r"(?:no answer would|answers? would) change.*?(?=\. |\.$)", text)
    for name, claim in sheet.claims.items() if changed else ():
        called = re.findall("“([^”]*)”", changed[0]) if changed else []
        ends = [name for name in called if name == claim.short]
        ends += [at for at in called if at[-1:] == "…" and claim.short.startswith(at[:-1])]
        said = bool(ends)
        if said != sheet.hangs_on_a_bound(name):
            yield f"{name}: another bound {'keeps' if said else 'changes'} its answer"


# --- answers, and counts of the whole -------------------------------------------------------------


def _html_answers(page: Node) -> list[list[str]]:
    found = []
    for table in page.first("section", id="answers").all("table", class_="answers"):
        for row in table.first("tbody").all("tr"):
            out, runs, numbers = (row.first("td", class_=at).text for at in ("out", "runs", "wide"))
            reasons = "; ".join(why.text for why in row.first("td", class_="cert").all("p"))
            found.append([row.first("a").text, out.strip(), reasons, runs.strip(), numbers])
    return found


def _markdown_answers(text: str) -> list[list[str]]:
    rows = cells(text.partition("\n## Answers\n")[2].partition("\n## ")[0])
    return [
        [re.sub(r"^\[(.*?)\].*$", r"\1", row[0]), *row[1:]] for row in rows if row[0][:1] == "["
    ]


def _of_answers(sheet: Sheet, page: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    names = [row[0] for row in rows]
    if sorted(names) != sorted(sheet.claims):
        yield f"{page}: answers to {names}, expected {[*sheet.claims]}"
        return
    for name, outcome, certainty, runs, *numbers in rows:
        where = f"{page}, answer to {name}"
        expected = sheet.answered[name].outcome
        if outcome != f"{MARKS[expected]} {expected}":
            yield f"{where}: {outcome}, expected {expected}"
        for text in (certainty, *numbers):
            for fault in sheet.explained(name, text):
                yield f"{where}: '{fault}' is unexplained in: {text}"
        yield from (f"{where}: {fault}" for fault in _of_runs(sheet, name, runs))


def _of_runs(sheet: Sheet, name: str, text: str) -> Iterator[str]:
    """A claim's count of runs, and the interval of the share that it stands for."""
    if sheet.answered[name].outcome is Outcome.DEPENDS:
        yield from (f"'{fault}' is unexplained in: {text}" for fault in sheet.explained(name, text))
        return
    yes, valid = whole(sheet.answered[name].base)
    said = re.match(PAIR, text)
    if said and (int(said[1]), int(said[2])) != (yes, valid):
        yield f"{said[0]}, expected {yes} of {valid}"
    interval = re.search(r"\((\d+)–(\d+) %\)", text)
    if interval:
        low, high = share_of(yes, valid)
        if (interval[1], interval[2]) != (f"{low:.0f}", f"{high:.0f}"):
            yield f"{text}, expected {low:.0f}–{high:.0f} %"


def _of_counts(sheet: Sheet, page: Node, text: str) -> Iterator[str]:
    """The counts of records, findings, settings and variables."""
    records = [record for seeds in sheet.records.values() for record in seeds.values()]
    ended = [
        sum(record.status == word for record in records)
        for word in ("completed", "diverged", "failed")
    ]
    hours = round(sum(record.seconds for record in records) / 3600, 3)
    records_words = (
        f"{len(records)}: {ended[0]} completed, {ended[1]} diverged, {ended[2]} failed; "
        f"{hours} hours of one core"
    )
    audit = sheet.audit
    documented = documentation_of(audit, sheet.reviews)
    settings = len(audit.settings) + sum(len(own.settings) for own in audit.experiments.values())
    settings += sum(len(claim.settings) for claim in audit.claims)
    wanted = [
        ("Markdown", text, f"{records_words};"),
        ("HTML", page.text, records_words.replace(":", " records:", 1)),
        *(
            (where, said, f"({settings})")
            for where, said in (("Markdown", text), ("HTML", page.text))
        ),
        *(
            (where, said, f"{documented.card} of {documented.of} documented")
            for where, said in (("Markdown", text), ("HTML", page.text))
            if documented.of
        ),
        ("Markdown", text, f"**Earlier results:** {sheet.earlier}."),
        ("HTML", page.text, f"Earlier results: {sheet.earlier}."),
    ]
    for where, said, words in wanted:
        if words not in said:
            yield f"{where}: expected '{words}'"
