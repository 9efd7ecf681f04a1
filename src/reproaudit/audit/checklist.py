r"""Reads the NeurIPS paper checklist: what the authors themselves say of the variables.

The checklist is the LaTeX file that papers include since 2023. Each question is an item of one
list: its title in bold, then unnumbered items with the question, the answer and its justification::

    \item {\bf Open access to data and code}
        \item[] Question: …
        \item[] Answer: \answerYes{}
        \item[] Justification: …

Comments do not count. Nothing of the file is executed, and no text makes it raise anything but a
`CardError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from reproaudit.audit.card import Remark, read_card_text, refuse_control_characters
from reproaudit.audit.variables import VariableName
from reproaudit.errors import CardError

CHECKLIST_QUESTIONS: Mapping[str, tuple[VariableName, ...]] = {
    "Claims": (),
    "Limitations": (),
    "Theory assumptions and proofs": (),
    "Experimental result reproducibility": (VariableName.EXPERIMENT_SETUP,),
    "Open access to data and code": (VariableName.OPEN_SOURCE_CODE, VariableName.OPEN_DATASETS),
    "Experimental setting/details": (VariableName.DATASET_SPLITS, VariableName.EXPERIMENT_SETUP),
    "Experiment statistical significance": (),
    "Experiments compute resources": (VariableName.HARDWARE_SPECIFICATION,),
    "Code of ethics": (),
    "Broader impacts": (),
    "Safeguards": (),
    "Licenses for existing assets": (),
    "New assets": (),
    "Crowdsourcing and research with human subjects": (),
    "Institutional review board (IRB) approvals or equivalent for research with human subjects": (),
    "Declaration of LLM usage": (),
}
"""The titles of the questions, and the variables that each asks about.

No question asks about pseudocode or software dependencies.
"""


class ChecklistAnswer(NamedTuple):
    """The authors' answer to one question.

    Attributes:
        answer: Yes, No or NA.
        justification: their words, without LaTeX's markup; empty if there are none.
        locator: the question, by its number and title.
    """

    answer: str
    justification: str
    locator: str


LONGEST_JUSTIFICATION = 5_000
"""Characters of a justification that are read; the checklist asks for a sentence or two."""


@dataclass(frozen=True)
class Checklist:
    """A checklist as far as it can be read.

    Attributes:
        answers: the authors' answers by variable, in the order of the questions.
        remarks: questions that are unknown or have no answer.
    """

    answers: Mapping[VariableName, tuple[ChecklistAnswer, ...]]
    remarks: tuple[Remark, ...] = ()


NO_CHECKLIST = Checklist({})


def read_checklist(path: Path) -> Checklist:
    """Return the checklist in a file.

    Raises:
        CardError: if the file cannot be read, is no text, or is no checklist.
    """
    return parse_checklist(read_card_text(path), str(path))


def parse_checklist(text: str, file: str = "checklist") -> Checklist:
    """Return the checklist in a LaTeX text.

    Args:
        text: the file.
        file: its name, for the error.

    Raises:
        CardError: on control characters, or if it has no question, a question twice, or a question
            with two answers.
    """
    refuse_control_characters(text, file)
    answers: dict[VariableName, tuple[ChecklistAnswer, ...]] = {}
    remarks: list[Remark] = []
    seen: set[str] = set()
    for number, one in enumerate(_questions(_COMMENT.sub(r"\1", text)), start=1):
        about = f"question {number} ({one.title})"
        if one.title in seen:
            raise CardError(f"{file}:{one.line}: found {about} again; expected each question once.")
        if len(one.answers) > 1:
            raise CardError(
                f"{file}:{one.line}: {about}: found the answers {', '.join(one.answers)}; "
                "expected one. Comment out or remove the others."
            )
        seen.add(one.title)
        variables = _VARIABLES.get(_letters(one.title))
        if variables is None:
            remarks.append(Remark(about, "found no such question in the checklist's editions"))
        elif variables and not one.answers:
            remarks.append(Remark(about, "found no answer"))
        for name in variables if variables and one.answers else ():
            locator = f"NeurIPS paper checklist, {about}"
            answer = ChecklistAnswer(one.answers[0], one.justification, locator)
            answers[name] = (*answers.get(name, ()), answer)
    if not seen:
        raise CardError(
            f"{file}: found no question such as '\\item {{\\bf Claims}}'; expected the LaTeX file "
            "of the NeurIPS paper checklist. Name the file that holds its answers."
        )
    return Checklist(answers, tuple(remarks))


# --- LaTeX ----------------------------------------------------------------------------------------

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
"""From a per cent sign that no backslash escapes to the end of its line."""
_TITLE = re.compile(r"\\item\s*(?:\{\s*\\(?:bf|bfseries)\b|\\textbf\s*\{)\s*([^{}]{1,200}?)\s*\}")
_ANSWER = re.compile(r"\\answer(Yes|No|NA)\b")
_JUSTIFICATION = re.compile(
    r"\\item\s*\[\s*\]\s*Justification:?(.*?)(?=\\item\b|\\end\s*\{|\Z)", re.DOTALL
)
_GUIDELINES = re.compile(r"\\item\s*\[\s*\]\s*Guidelines\b")
_MARKUP = (
    (re.compile(r"\\href\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), r"\2 (\1)"),
    (re.compile(r"\\(?:[cC]|auto|eq)?ref\s*\{([^{}]*)\}"), r"[\1]"),
    (re.compile(r"\\cite[a-z]*\s*(?:\[[^\]]*\]\s*)*\{([^{}]*)\}"), r"[\1]"),
    (re.compile(r"\\(?:text[a-z]+|emph|url|underline|mbox)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile("~"), " "),
    (re.compile(r"\\([%&_#${}])"), r"\1"),
)
"""The markup that is common in a sentence, and what is read in its place; the rest stays."""


class _Question(NamedTuple):
    title: str
    line: int
    answers: list[str]
    justification: str


def _questions(text: str) -> Iterator[_Question]:
    """The questions of a text without comments, in their order."""
    titles = list(_TITLE.finditer(text))
    ends = [*(one.start() for one in titles[1:]), len(text)]
    for title, end in zip(titles, ends, strict=False):
        body = _GUIDELINES.split(text[title.end() : end], maxsplit=1)[0]
        words = _JUSTIFICATION.search(body)
        yield _Question(
            " ".join(title[1].split()),
            text.count("\n", 0, title.start()) + 1,
            _ANSWER.findall(body[: words.start()] if words is not None else body),
            _plain(words[1][:LONGEST_JUSTIFICATION]) if words is not None else "",
        )


def _plain(text: str) -> str:
    for pattern, plain in _MARKUP:
        text = pattern.sub(plain, text)
    return "" if "\\justificationTODO" in text else " ".join(text.split())


def _letters(title: str) -> str:
    """A title by which editions of the checklist are the same."""
    return " ".join(re.findall(r"[a-z]+", title.lower()))


_VARIABLES = {_letters(title): names for title, names in CHECKLIST_QUESTIONS.items()}
