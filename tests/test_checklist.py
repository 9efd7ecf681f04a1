"""The authors' checklist: its answers become their side of the variables; nothing is guessed."""

from datetime import date
from pathlib import Path

import pytest
import yaml

from reproaudit.audit.card import CHECKLIST_QUESTIONS, Card, with_checklist
from reproaudit.audit.documentation import documentation_of
from reproaudit.audit.loading import load_audit
from reproaudit.audit.model import AuthorsAnswer, VariableName
from reproaudit.audit.review import Reviews

ROOT = Path(__file__).parents[1]
FILLED_IN = Path(__file__).parent / "checklists" / "checklist.tex"
TODAY = date(2031, 5, 6)


def read_checklist(file: Path) -> Card:
    return with_checklist(Card(), file)


def question(title: str, *lines: str) -> str:
    return "\n".join([f"\\item {{\\bf {title}}}", *(f"\\item[] {line}" for line in lines)])


def test_each_answer_reaches_the_variables_that_its_question_asks_about():
    read = read_checklist(FILLED_IN)
    found = {name: [(answer["answer"], answer.get("justification", "")) for answer in several]
             for name, several in read.answers.items()}  # fmt: skip
    code = "The code has not been cleaned up; 100% of the data are drawn from a generator that the text states."  # noqa: E501
    assert found == {
        VariableName.OPEN_SOURCE_CODE: [("No", code)],
        VariableName.OPEN_DATASETS: [("No", code)],
        VariableName.DATASET_SPLITS: [("NA", "")],
        VariableName.EXPERIMENT_SETUP: [
            ("Yes", "Appendix [app:setup] lists every step, see also [lee2019]."),
            ("NA", ""),
        ],
    }
    (answer,) = read.answers[VariableName.OPEN_SOURCE_CODE]
    assert answer["locator"] == "NeurIPS paper checklist, question 3 (Open access to data and code)"
    assert read.remarks == (
        "checklist: question 5 (Experiments compute resources): found no answer",
    )


@pytest.mark.parametrize(
    "title", ["Experimental Setting/Details", "EXPERIMENTAL  setting / details"]
)
def test_editions_write_a_title_with_other_capitals_and_blanks(tmp_path, title):
    file = tmp_path / "checklist.tex"
    file.write_text(question(title, r"Answer: \answerYes{}"))
    read = read_checklist(file)
    assert VariableName.DATASET_SPLITS in read.answers
    assert "checklist: found no question 'Open access to data and code'" in read.remarks


FORMS = {
    "colours": (
        question("{title}", r"Answer: \textcolor{{blue}}{{[{answer}]}}").replace(
            "{\\bf {title}}", "{{\\bf {title}}}"
        ),
        2,
    ),
    "brackets": (
        question("{title}.", "Answer: [{answer}]").replace("{\\bf {title}.}", "{{\\bf {title}.}}"),
        2,
    ),
    "markdown": ("1. **{title}**\n- Answer: [{answer}]\n", 2),
    "pdf": ("{number}. {title}\nQuestion: Is it?\nAnswer: [{answer}]\n", 5),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_checklist_is_read_below_its_heading_in_other_forms(tmp_path, form):
    """A paper's own items in bold type are no questions, and count in no number."""
    template, number = FORMS[form]
    titles = {"Claims": (1, "Yes"), "Open Access to Data and Code": (5, "No")}
    written = [template.format(title=t, number=n, answer=a) for t, (n, a) in titles.items()]
    own = question("Open access to data and code", r"\answerYes{}")
    in_latex = "item" in template
    heading = r"\section*{Paper checklist}" if in_latex else "## NeurIPS Paper Checklist"
    file = tmp_path / "paper.tex"
    file.write_text("\n".join([own, own, heading, *written, r"\section{Proofs}", own]))
    read = read_checklist(file)
    (found,) = read.answers[VariableName.OPEN_SOURCE_CODE]
    title = "Open Access to Data and Code"
    locator = f"NeurIPS paper checklist, question {number} ({title})"
    assert found == {"answer": "No", "locator": locator}


def test_the_form_of_2021_is_told_by_what_its_questions_ask(tmp_path):
    questions = [
        r"Do the claims hold? \answerYes{}",
        r"Are code, data, and instructions included? \answerYes{In the \emph{supplement}.}",
        r"Did you specify all the training details? \answerNo{}",
        r"Did you include the amount of compute? \answerNA{}",
    ]
    text = "\\section*{Checklist}\n" + "\n".join(f"\\item {item}" for item in questions)
    (tmp_path / "c.tex").write_text(text)
    found = {
        name: answer[0]["answer"]
        for name, answer in read_checklist(tmp_path / "c.tex").answers.items()
    }
    assert found == {
        VariableName.OPEN_SOURCE_CODE: "Yes", VariableName.OPEN_DATASETS: "Yes",
        VariableName.DATASET_SPLITS: "No", VariableName.EXPERIMENT_SETUP: "No",
        VariableName.HARDWARE_SPECIFICATION: "NA",
    }  # fmt: skip


@pytest.mark.parametrize("title", CHECKLIST_QUESTIONS)
def test_the_page_has_every_question_with_its_variables(title):
    page = " ".join((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8").split())
    assert f"| {title} | {', '.join(CHECKLIST_QUESTIONS[title])} |" in page


def test_a_draft_holds_the_authors_side(tmp_path, cli):
    command = ["new", "sheep2031", "--checklist", str(FILLED_IN), "--out", str(tmp_path), "--json"]
    said = cli(*command).data["remarks"]
    assert any(remark.startswith("checklist: question 5 (") for remark in said)
    data = yaml.safe_load((tmp_path / "sheep2031.yaml").read_text(encoding="utf-8"))
    variables = data["variables"]
    setup = variables["Experiment Setup"]["checklist"]
    assert [answer["answer"] for answer in setup] == ["Yes", "NA"]
    assert "Pseudocode" not in variables
    assert all("card" not in variable for variable in variables.values())


def test_the_authors_side_is_shown_and_counts_in_no_score():
    audit = load_audit(ROOT / "tests" / "audits" / "toy.yaml")
    answer = AuthorsAnswer(
        answer="Yes", justification="It is public.", locator="checklist, question 5", as_of=TODAY
    )
    told = tuple(variable.model_copy(update={"authors": (answer,)}) for variable in audit.variables)

    before = documentation_of(audit, Reviews())
    after = documentation_of(audit.model_copy(update={"variables": told}), Reviews())
    assert (after.card, after.reviewed) == (before.card, before.reviewed)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "checklist.tex: found 'checklist.tex', without a question"),
        (
            "\\question{All source code is in an appendix}{(yes/partial/no)}\nno",
            "checklist.tex: found AAAI's checklist",
        ),
        (
            "The Machine Learning Reproducibility Checklist (v2.0)\n* [x] Training code.",
            "checklist.tex: found the ML checklist",
        ),
        (
            "\\item Claims\n\\answerYes{}",
            "checklist.tex: found 'checklist.tex', without a question",
        ),
        (
            "1. Introduction\nYes.\n2. Method\nNo.\n",
            "checklist.tex: found 'checklist.tex', without a question",
        ),
        (
            "Checklist\n1. Code: yes\n2. Seeds: 5\n",
            "checklist.tex: found 'Checklist', without a question",
        ),
        ("# ACL Responsible NLP Checklist\nA1. Yes", "checklist.tex: found ACL's checklist"),
        (
            question("Open access to data and code", r"Answer: \answerTODO{}"),
            "checklist.tex: found a checklist without an answer",
        ),
        ("\\item Is code included? \\answerTODO{}", "checklist.tex: found a checklist without"),
        (
            "% \\item {\\bf Claims} \\answerYes{}",
            "checklist.tex: found a checklist that is commented",
        ),
        (
            "\n\n" + question("Claims", r"Answer: \answerYes{} \answerNo{}"),
            "checklist.tex:3: question 1 (Claims): found the answers Yes, No; expected one",
        ),
        (
            question("Claims") + "\n" + question("Claims"),
            "checklist.tex:2: found question 2 (Claims) again",
        ),
        ("\\item {\\bf Claims}\x1b[31m", "checklist.tex:1:19: found the control character U+001B"),
    ],
)
def test_a_malformed_file_is_one_line(tmp_path, text, complaint, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("checklist.tex").write_text(text)
    command = ["new", "sheep2031", "--checklist", "checklist.tex", "--out", "mine"]
    (line,) = cli(*command, code=2).err.splitlines()
    assert line.startswith(complaint)
    assert not Path("mine").exists()
