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
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from reproaudit.audit.card import Card, readable_text
from reproaudit.audit.model import VariableName
from reproaudit.errors import CardError

CHECKLIST_QUESTIONS: Mapping[str, tuple[VariableName, ...]] = {
    "Experimental result reproducibility": (VariableName.EXPERIMENT_SETUP,),
    "Open access to data and code": (VariableName.OPEN_SOURCE_CODE, VariableName.OPEN_DATASETS),
    "Experimental setting/details": (VariableName.DATASET_SPLITS, VariableName.EXPERIMENT_SETUP),
    "Experiments compute resources": (VariableName.HARDWARE_SPECIFICATION,),
}
"""The titles of the questions that ask about variables, and the variables of each.

No question asks about pseudocode or software dependencies.
"""

LONGEST_JUSTIFICATION = 5_000
"""Characters of a justification that are read; the checklist asks for a sentence or two."""

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
"""From a per cent sign that no backslash escapes to the end of its line."""
_TITLE = re.compile(r"\\item\s*(?:\{\s*\\(?:bf|bfseries)\b|\\textbf\s*\{)\s*([^{}]{1,200}?)\s*\}")
_ANSWER = re.compile(r"\\answer(Yes|No|NA)\b")
_JUSTIFICATION = re.compile(
    r"\\item\s*\[\s*\]\s*Justification:?(.*?)(?=\\item\b|\\end\s*\{|\Z)", re.DOTALL
)
_GUIDELINES = re.compile(r"\\item\s*\[\s*\]\s*Guidelines\b")
_STYLE = re.compile(r"\\(?:text[a-z]+|emph|url)\s*\{([^{}]*)\}")
_REFERENCE = re.compile(r"\\(?:[a-z]{0,4}ref|cite[a-z]*)\s*(?:\[[^\]]*\]\s*)*\{([^{}]*)\}", re.I)


def with_checklist(card: Card, path: Path) -> Card:
    """Return a card with the authors' answers in the checklist of a file.

    Raises:
        CardError: if the file cannot be read, is no text, or has no question, a question twice, or
            a question with two answers.
    """
    text = _COMMENT.sub(r"\1", readable_text(path))
    answers: dict[VariableName, list[Mapping[str, str]]] = {}
    remarks: list[str] = []
    seen, missing = set[str](), dict.fromkeys(CHECKLIST_QUESTIONS)
    titles = list(_TITLE.finditer(text))
    for number, match in enumerate(titles, start=1):
        title, line = " ".join(match[1].split()), text.count("\n", 0, match.start()) + 1
        about = f"question {number} ({title})"
        end = titles[number].start() if number < len(titles) else len(text)
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
        asked = next((one for one in CHECKLIST_QUESTIONS if _letters(one) == _letters(title)), "")
        missing.pop(asked, None)
        if asked and not given:
            remarks.append(f"{about}: found no answer")
        for name in CHECKLIST_QUESTIONS[asked] if asked and given else ():
            said = _plain(words[1][:LONGEST_JUSTIFICATION]) if words is not None else ""
            answer = {"answer": given[0], "justification": said} if said else {"answer": given[0]}
            locator = f"NeurIPS paper checklist, {about}"
            answers.setdefault(name, []).append({**answer, "locator": locator})
    if not seen:
        raise CardError(
            f"{path}: found no question such as '\\item {{\\bf Claims}}'; expected the LaTeX file "
            "of the NeurIPS paper checklist. Name the file that holds its answers."
        )
    remarks += [f"found no question '{one}'" for one in missing]
    remarks = [*card.remarks, *(f"checklist: {one}" for one in remarks)]
    return replace(card, answers=answers, remarks=tuple(remarks))


def _plain(text: str) -> str:
    """A justification with its references in brackets; nothing if it is still to be written."""
    text = _STYLE.sub(r"\1", _REFERENCE.sub(r"[\1]", text)).replace("~", " ")
    text = re.sub(r"\\([%&_#${}])", r"\1", text)
    return "" if "\\justificationTODO" in text else " ".join(text.split())


def _letters(title: str) -> str:
    """A title by which editions of the checklist are the same."""
    return " ".join(re.findall(r"[a-z]+", title.lower()))
