"""The faults of a review file, by itself and held against its audit."""

from pathlib import Path

import pytest

from reproaudit.audit.loading import load_audit, load_reviews, read_reviews
from reproaudit.audit.review import version_of

TOY = Path(__file__).parent / "audits" / "toy.yaml"
AUDIT = load_audit(TOY)
DAY = "as_of: 2026-11-02"
AGREE = f"decision: agree, reason: So., {DAY}"


def faults(folder: Path, text: str) -> list[tuple[str, int]]:
    file = folder / "toy.review.yaml"
    file.write_text(f"schema_version: 2\n{text}\n", encoding="utf-8")
    return [(review.rule, review.place.line) for review in read_reviews(file, AUDIT)[1]]


def test_the_toys_reviews_have_no_fault():
    file = TOY.with_suffix("").with_suffix(".review.yaml")
    assert read_reviews(file, AUDIT)[1] == []
    assert len(load_reviews(file).variables) == 2


def test_without_a_file_nobody_has_reviewed(tmp_path):
    assert load_reviews(tmp_path / "toy.review.yaml").variables == {}
    assert read_reviews(tmp_path / "toy.review.yaml", AUDIT)[1] == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (f"variables:\n  Pseudocode:\n  - {{reviewer: R1, {AGREE}}}\n  - {{reviewer: R1, {AGREE}}}",
         "RA225"),
        (f"responses:\n- {{to: toy.nothing, by: A, statement: So., {DAY}}}", "RA224"),
        (f"disputes:\n- {{claim: toy.nothing, reviewer: R1, reason: So., {DAY}}}", "RA224"),
        (f"disputes:\n- {{arm: nothing, reviewer: R1, reason: So., {DAY}}}", "RA224"),
        (f"disputes:\n- {{source: nothing, reviewer: R1, reason: So., {DAY}}}", "RA224"),
        (f"disputes:\n- {{claim: toy.direction, arm: solved, reviewer: R1, reason: So., {DAY}}}",
         "RA059"),
        ("disputes: 1", "RA052"),
        (f"note: {{reviewer: R1, text: So., answers: none, {DAY}}}", "RA055"),
        (f"note: {{reviewer: R1, text: '{'so ' * 101}', answers: {'a' * 32}, {DAY}}}", "RA059"),
        ("opinions: []", "RA050"),
    ],
)  # fmt: skip
def test_a_fault_has_its_rule_and_place(tmp_path, text, rule):
    ((found, line),) = faults(tmp_path, text)
    assert found == rule
    assert line >= 2


def test_a_review_file_is_checked_with_its_audit_and_by_its_own_name(tmp_path, cli):
    (tmp_path / "toy.yaml").write_text(TOY.read_text())
    faults(tmp_path, f"disputes:\n- {{arm: solvd, reviewer: R1, reason: So., {DAY}}}")
    for name in ("toy.yaml", "toy.review.yaml"):
        (line, _) = cli("check", tmp_path / name, code=2).out.splitlines()
        place = (
            f"{tmp_path / 'toy.review.yaml'}:3:9: disputes[0].arm: found 'solvd', which is no arm"
        )
        assert line.startswith(place)
        assert line.endswith("Did you mean 'solved'? [RA224]")
    assert load_reviews(tmp_path / "toy.review.yaml").disputes[0].arm == "solvd"


def test_sign_offs(tmp_path):
    signed = f"reviewer: R1, version: {version_of(AUDIT)}, {DAY}"
    assert faults(tmp_path, f"sign_offs:\n- {{{signed}}}") == []
    stale = signed.replace(version_of(AUDIT), "a" * 32)
    assert [rule for rule, _ in faults(tmp_path, f"sign_offs:\n- {{{stale}}}")] == ["RA173"]
