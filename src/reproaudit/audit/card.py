r"""Reads a reproducibility card, and the authors' checklist: what is known before an audit begins.

A card is text in one of two shapes, a line for each of the nine variables or a Markdown table.
Above it are, in any order, the title, the authors and the venue with its year::

    A Title                                     | Reproducibility Variable | Result | LLM Response |
    Authors: A. Author, B. Author               |---|---|---|
    ICLR 2025 | Venue PDF | LLM Run Details     | Pseudocode | No | The paper has none. |
    Pseudocode No The paper has none.

It may also be a paper's first lines only: title, authors, venue and abstract. The checklist is the
LaTeX file that NeurIPS papers include since 2023. Each question is an item of one list::

    \item {\bf Open access to data and code}
        \item[] Question: …
        \item[] Answer: \answerYes{}
        \item[] Justification: …

Read are also ``[Yes]``, colours, Markdown, the text of a PDF, and the form of 2021, where an answer
such as ``\answerYes{…}`` follows each question. The list begins at its heading.

What cannot be read is left open and named in `Card.remarks`, never guessed. Nothing of a file is
executed, and no text makes it raise anything but a `CardError`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from reproaudit.audit.document import is_readable, read_file
from reproaudit.audit.faults import Faults
from reproaudit.audit.model import VariableName
from reproaudit.errors import CardError

MAX_CARD_BYTES = 2**18  # The largest card; those seen so far have a fiftieth of it


@dataclass(frozen=True)
class Card:
    """What a paper's card and its authors' checklist say, as far as they can be read.

    Attributes:
        rows: the classification of each variable that has a row; None if it cannot be read.
        remarks: what could not be read, each with what was found instead.
    """

    title: str | None = None
    authors: tuple[str, ...] = ()
    venue: str | None = None
    year: int | None = None
    rows: Mapping[VariableName, str | None] = field(default_factory=dict)
    answers: Mapping[VariableName, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def readable_text(path: Path) -> str:
    """Return a file's text of at most `MAX_CARD_BYTES`, blanks as spaces, or raise a CardError."""
    faults = Faults(str(path))
    text = read_file(path, MAX_CARD_BYTES, faults)
    if text is not None:
        text = re.sub("\r\n?", "\n", re.sub("[\x0b\x0c\x85\u2028\u2029]", " ", text))
    if text is None or not is_readable(text, faults):
        raise CardError(str(faults.in_order()[0]))
    return text


def read_card(path: Path) -> Card:
    """Return the card in a file; a CardError says why there is none."""
    lines = [" ".join(line.split()) for line in readable_text(path).split("\n")]
    if not any(lines):
        raise CardError(f"{path}: found an empty file; expected a reproducibility card")
    ends = (
        i
        for i, line in enumerate(lines)
        if _END_OF_HEAD.match(line) or ((row := _row(line)) and row[1] in _words(row[0]))
    )
    start = next(ends, len(lines))
    rows: dict[VariableName, list[tuple[int, str]]] = {}
    for number, line in enumerate(lines[start:], start=start + 1):
        if (row := _row(line)) is not None:
            rows.setdefault(row[0], []).append((number, row[1]))
    card = _head([line for line in lines[:start] if line])
    if not rows and (card.title is None or card.venue is None):
        names = ", ".join(list(VariableName)[:3])
        raise CardError(
            f"{path}: found no row of a reproducibility variable ({names} …), nor a title and a "
            "venue; expected a reproducibility card"
        )
    results = {}
    remarks = list(card.remarks)
    for name in VariableName:
        entries = rows.get(name, [])
        known = {word for _, word in entries if word in _words(name)}
        if entries:
            results[name] = known.pop() if len(known) == 1 else None
        if not entries:
            remarks.append(f"{name.value}: found no row")
        elif results[name] is None:
            shown = ", ".join(f"{word[:40]!r} on line {line}" for line, word in entries[:5])
            remarks.append(f"{name.value}: found {shown}; expected {' or '.join(_words(name))}")
    return replace(card, rows=results, remarks=tuple(f"card: {remark}" for remark in remarks))


_ROW = re.compile(
    rf"[|*\s]*({'|'.join(map(re.escape, VariableName))})(?:\**\s*[|:]\s*\**|\s|$)([^\s|*]*)"
)
_END_OF_HEAD = re.compile(r"\W*Reproducibility Variable\b|\W*abstract\W*$", re.IGNORECASE)
_AUTHORS = re.compile(r"\**Authors:\**(.*)")
_BETWEEN_AUTHORS = re.compile(r"\s*(?:[,;](?!\s*(?:Jr|Sr|II|III|IV)\b)|\s&\s|\sand\s)\s*")
_VENUE = re.compile(r"(\S.{,98}?) ?((?:19|20)\d\d)( \|.*)?")

_WORDS = {
    VariableName.RESEARCH_TYPE: ("Experimental", "Theoretical"),
    VariableName.RESEARCHER_AFFILIATION: ("Academia", "Industry", "Collaboration"),
}
"""The results that a variable may have, if they are not Yes and No."""


def _words(name: VariableName) -> tuple[str, ...]:
    return _WORDS.get(name, ("Yes", "No"))


def _row(line: str) -> tuple[VariableName, str] | None:
    match = _ROW.match(line)
    if match is None:
        return None
    return VariableName(match[1]), match[2].capitalize() if "|" in line else match[2]


def _head(lines: Sequence[str]) -> Card:
    """Title, authors, venue and year of the lines above the rows, with remarks."""
    titles = []
    authors = list[str]()
    venue = None
    year = None
    for line in lines:
        if (named := _AUTHORS.match(line)) is not None:
            authors += filter(None, _BETWEEN_AUTHORS.split(named[1].strip()))
        elif venue is None and (dated := _venue(line)) is not None:
            venue, year = dated
        elif not line.startswith("Notice:"):
            titles.append(line.lstrip("#").strip(" *"))
    remarks = []
    if venue is None:
        remarks.append("venue: found no line such as 'ICLR 2025 | …'")
    if not authors:
        remarks.append("authors: found no line 'Authors: …' with names")
    if not titles:
        remarks.append("title: found no line that could be one")
    elif len(titles) > 1:
        remarks.append(f"title: read from the first of {len(titles)} lines")
    title = titles[0] if titles else None
    return Card(title or None, tuple(authors), venue, year, remarks=tuple(remarks))


def _venue(line: str) -> tuple[str, int] | None:
    """The venue and its year: an acronym, or what links to the paper's files follow."""
    match = _VENUE.fullmatch(line)
    if match is None:
        return None
    acronym = match[1].isalpha() and not match[1][1:].islower()
    return (match[1], int(match[2])) if match[3] or acronym else None


CHECKLIST_QUESTIONS: Mapping[str, tuple[VariableName, ...]] = {
    "Experimental result reproducibility": (VariableName.EXPERIMENT_SETUP,),
    "Open access to data and code": (VariableName.OPEN_SOURCE_CODE, VariableName.OPEN_DATASETS),
    "Experimental setting/details": (VariableName.DATASET_SPLITS, VariableName.EXPERIMENT_SETUP),
    "Experiments compute resources": (VariableName.HARDWARE_SPECIFICATION,),
}
"""The titles of the questions that ask about variables, and the variables of each.

No question asks about pseudocode or software dependencies.
"""

MOST_TITLE = 200  # Characters of a question's title

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
"""From a per cent sign that no backslash escapes to the end of its line."""
_TITLE = re.compile(r"\\item\s*(?:\{\s*\\(?:bf|bfseries)\b|\\textbf\s*\{)([^{}]*)\}")
_COMMENTED = re.compile(r"(?m)^[ \t]*%(.*)")
_HEADING = re.compile(
    r"(?im)^[ \t]*(?:\\(?:sub)?section\*?\s*\{|#+)?[ \t\d.*]{0,9}(?:(?:neurips|automl|paper|"
    r"reproducibility|submission|conference)[ -]){0,4}checklist[ \t}*:]*$"
)
_END_OF_CHECKLIST = re.compile(r"\\(?:section|appendix|bibliography)\b|\\end\{document\}")
_COLOUR = re.compile(r"\\(?:textcolor|colorbox)\s*\{[^{}]{0,40}\}\s*\{([^{}]{0,200})\}")
_BRACKETS = re.compile(r"(?i)(Answer\**:?\**\s{0,9})\[\s?(yes|no|n/?a)\s?\]")
_GIVEN = {"yes": "Yes", "no": "No", "na": "NA"}
_FIELD = re.compile(
    r"(?m)^[ \t]*(?:\d+\.|[-*])?[ \t]*\**(Question|Answer|Justification|Guidelines)\**:\**"
)
_NUMBERED = re.compile(
    r"(?m)^[ \t]*(\d{1,3})\.[ \t]+(?:\{\\bf )?\**([A-Z][^\n{}*]{2,150}?)\.?[*}]*[ \t]*$"
)
_OLD_ANSWER = re.compile(
    r"\\item\s+([^\\]{1,600}?)\s*\\answer(Yes|No|NA)\b(?:\{((?:[^{}]|\{[^{}]{0,200}\}){0,2000})\})?"
)
_OLD_QUESTIONS = (
    (
        re.compile(r"(?i)\bcode\b.*\bdata"),
        (VariableName.OPEN_SOURCE_CODE, VariableName.OPEN_DATASETS),
    ),
    (
        re.compile(r"(?i)training details|hyperparameters"),
        (VariableName.DATASET_SPLITS, VariableName.EXPERIMENT_SETUP),
    ),
    (re.compile(r"(?i)\bcompute\b|type of resources"), (VariableName.HARDWARE_SPECIFICATION,)),
)
"""What a question of the form of 2021 asks, and its variables."""
_ANSWER = re.compile(r"\\answer(Yes|No|NA)\b(?:\{\})?")
_JUSTIFICATION = re.compile(
    r"\\item\s*\[\s*\]\s*Justification:?(.*?)(?=\\item\b|\\end\s*\{|\Z)", re.DOTALL
)
_GUIDELINES = re.compile(r"\\item\s*\[\s*\]\s*Guidelines\b")
_STYLE = re.compile(r"\\(?:text[a-z]+|emph|url)\s*\{([^{}]*)\}")
_REFERENCE = re.compile(
    r"\\(?:[a-z]{0,4}ref|cite[a-z]*)\s*(?:\[[^\]]{0,200}\]\s*){0,2}\{([^{}]*)\}", re.I
)


_OTHER_FORMS = (
    (re.compile(r"\\question\s*\{[^{}]*\}\s*\{\(?\s*yes\b", re.I), "AAAI's checklist"),
    (re.compile(r"Machine Learning Reproducibility Checklist", re.I), "the ML checklist (v2.0)"),
    (re.compile(r"Responsible NLP (?:Research )?Checklist", re.I), "ACL's checklist"),
)
"""Checklists whose questions are others than NeurIPS's, and what they are called."""


def _refuse_other_forms(written: str, path: Path) -> None:
    for form, called in _OTHER_FORMS:
        if form.search(written):
            raise _not_of_neurips(path, called)


def _not_of_neurips(path: Path, found: str) -> CardError:
    return CardError(
        f"{path}: found {found}; expected the NeurIPS paper checklist, with a question "
        f"such as '{next(iter(CHECKLIST_QUESTIONS))}'. Name the file that holds its answers. "
        "What another form answers, write under 'variables' in the audit, by hand."
    )


def with_checklist(card: Card, path: Path) -> Card:
    """Return a card with the authors' answers in the checklist of a file.

    A CardError says what it is not: text, with questions, each once and with one answer at most.
    """
    written = readable_text(path)
    _refuse_other_forms(written, path)
    text, line = _checklist_part(_COMMENT.sub(r"\1", written))
    numbers = [int(match[1]) for match in _NUMBERED.finditer(text)]
    text = _as_latex(text)
    answers: dict[VariableName, list[Mapping[str, str]]] = {}
    remarks: list[str] = []
    seen = set[str]()
    missing = dict.fromkeys(CHECKLIST_QUESTIONS)
    titles = [match for match in _TITLE.finditer(text) if 0 < len(match[1].strip()) <= MOST_TITLE]
    if not titles and (old := _old_answers(text)):
        return replace(card, answers=old)
    counted = 0
    is_numbered = len(numbers) == len(titles) and numbers == sorted(set(numbers))
    for index, match in enumerate(titles):
        number = numbers[index] if is_numbered else index + 1
        line += text.count("\n", counted, match.start())
        counted = match.start()
        title = " ".join(match[1].split()).rstrip(".:")
        about = f"question {number} ({title})"
        end = titles[index + 1].start() if index + 1 < len(titles) else len(text)
        body = _GUIDELINES.split(text[match.end() : end], maxsplit=1)[0]
        words = _JUSTIFICATION.search(body)
        given = _ANSWER.findall(body[: words.start()] if words is not None else body)
        if title in seen:
            raise CardError(f"{path}:{line}: found {about} again; expected each question once.")
        if len(given) > 1:
            raise CardError(
                f"{path}:{line}: {about}: found the answers {', '.join(given)}; "
                "expected one. Comment out or remove the others."
            )
        seen.add(title)
        asked = next((q for q in CHECKLIST_QUESTIONS if _letters(q) == _letters(title)), "")
        missing.pop(asked, None)
        if asked and not given:
            remarks.append(f"{about}: found no answer")
        for name in CHECKLIST_QUESTIONS[asked] if asked and given else ():
            locator = f"NeurIPS paper checklist, {about}"
            justification = "" if words is None else _ANSWER.sub("", words[1])
            answers.setdefault(name, []).append(_answer(given[0], justification, locator))
    if not answers:
        is_form = len(missing) < len(CHECKLIST_QUESTIONS) or "\\answerTODO" in text
        raise _unread(written, path, is_form=is_form)
    remarks += [f"found no question '{question}'" for question in missing]
    remarks = [*card.remarks, *(f"checklist: {remark}" for remark in remarks)]
    return replace(card, answers=answers, remarks=tuple(remarks))


def _unread(written: str, path: Path, *, is_form: bool) -> CardError:
    """Return what is wrong with a file in which no answer is read."""
    if is_form:
        return CardError(
            f"{path}: found a checklist without an answer to a question on a variable; expected "
            "the authors' answers, such as '\\answerYes{}'. Name the file that they filled in."
        )
    if any(_TITLE.search(comment) for comment in _COMMENTED.findall(written)):
        return CardError(
            f"{path}: found a checklist that is commented out; expected one that the paper shows. "
            "If it is the authors' answer, remove the per cent signs."
        )
    headings = (line.strip(" #*") for line in written.splitlines())
    called = next((h for h in headings if "checklist" in h.lower() and len(h) < 80), path.name)
    return _not_of_neurips(path, f"'{called}', without a question that is read")


def _checklist_part(text: str) -> tuple[str, int]:
    """Return the part of a text below the checklist's heading, and its first line's number."""
    heading = next(iter(_HEADING.finditer(text)), None)
    if heading is None:
        return text, 1
    rest = text[heading.end() :]
    end = _END_OF_CHECKLIST.search(rest)
    return rest[: end.start() if end else len(rest)], 1 + text.count("\n", 0, heading.end())


def _as_latex(text: str) -> str:
    """Return a checklist of another form as the LaTeX that is read, each line in its place."""
    text = _COLOUR.sub(r"\1", text)
    text = _BRACKETS.sub(
        lambda match: f"{match[1]}\\answer{_GIVEN[match[2].lower().replace('/', '')]}{{}}", text
    )
    if "\\item" in text:
        return text
    lines = _FIELD.sub(r"\\item[] \1:", text)
    return _NUMBERED.sub(r"\\item {\\bf \2}", lines)


def _old_answers(text: str) -> dict[VariableName, list[Mapping[str, str]]]:
    """Return the answers of the form of 2021, told by what each question asks."""
    answers: dict[VariableName, list[Mapping[str, str]]] = {}
    for number, match in enumerate(_OLD_ANSWER.finditer(text), start=1):
        question = " ".join(match[1].split())
        asked = next((names for form, names in _OLD_QUESTIONS if form.search(question)), ())
        locator = f"NeurIPS paper checklist of 2021, question {number} ({question[:MOST_TITLE]})"
        for name in asked:
            answers.setdefault(name, []).append(_answer(match[2], match[3] or "", locator))
    return answers


def _answer(answer: str, justification: str, locator: str) -> Mapping[str, str]:
    """An answer as an audit has it: references in brackets, no words still to be written."""
    text = _STYLE.sub(r"\1", _REFERENCE.sub(r"[\1]", justification)).replace("~", " ")
    words = " ".join(re.sub(r"\\([%&_#${}])", r"\1", text).split())
    told = {"justification": words} if words and "\\justificationTODO" not in text else {}
    return {"answer": answer, **told, "locator": locator}


def _letters(title: str) -> str:
    """A title by which editions of the checklist are the same."""
    return " ".join(re.findall(r"[a-z]+", title.lower()))
