"""What changed between two scorecards or audits: sorted by class, and told from noise."""

from __future__ import annotations

import html
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import factories
from rendering import render_html, render_markdown, render_scorecard
from reproaudit.audit.loading import load_audit
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch
from reproaudit.cli import run_command
from reproaudit.commands.diff import read_side
from reproaudit.diff.compare import compare
from reproaudit.diff.model import Change, ClaimChange, ComparedScorecard, Comparison
from reproaudit.errors import SpecError, UsageError
from reproaudit.judging.outcomes import Lookup
from reproaudit.records import Measurements, Record, Series
from reproaudit.reports import outline as o
from reproaudit.reports.difference import cause_words, comparison_document
from reproaudit.reports.files import write_report
from reproaudit.reports.html import html_page
from reproaudit.reports.markdown import escaped, markdown_text
from reproaudit.reports.terminal import print_document
from reproaudit.scorecard.build import build
from reproaudit.scorecard.model import AlternativeRunModel, CustomModel, Scorecard
from reproaudit.stats import Decision
from test_loading import TEXT, TODAY, TOY

CLAIMS = [factories.claim("layers", "good"), factories.claim("missed", "assumed_opposite")]


def audit(**changes: Any) -> Audit:
    return factories.make_audit(**{"claims": CLAIMS, "figures": [], "findings": [],
                                   "responses": [], **changes})  # fmt: skip


def scaled(measured: Measurements, by: float, noise: float, seed: int) -> Measurements:
    factor = by * (1 + noise * (-1) ** seed)
    return Measurements(
        scalars={k: v * factor for k, v in measured.scalars.items()},
        series={k: Series(steps=s.steps, values=s.values * factor)
                for k, s in measured.series.items()},
        arrays={k: v * factor for k, v in measured.arrays.items()},
    )  # fmt: skip


def card(one: Audit, by: float = 1.0, noise: float = 0.0, **record: Any) -> Scorecard:
    """A scorecard whose measurements are the toy's times a factor, with noise over seeds."""
    inner: Lookup = factories.make_lookup(one)

    def lookup(batch: Batch) -> Mapping[int, Record]:
        return {
            seed: r.model_copy(
                update={"measurements": scaled(r.measurements, by, noise, seed), **record}
            )
            for seed, r in inner(batch).items()
        }

    return build(one, "paper", lookup)


def compared(before: Scorecard, after: Scorecard) -> Comparison:
    return compare(ComparedScorecard("a", None, before), ComparedScorecard("b", None, after))


def of(found: Comparison, name: str = "layers") -> ClaimChange:
    return next(one for one in found.claims if one.id == f"toy.{name}")


def changes(found: Comparison, kind: str) -> list[tuple[str, Any, Any]]:
    return [(c.place, c.before, c.after) for c in found.changes if c.kind == kind]


def printed(found: Comparison) -> str:
    out = io.StringIO()
    print_document(comparison_document(found), Console(file=out, width=80))
    assert max(map(len, out.getvalue().splitlines())) <= 80
    return " ".join(out.getvalue().split())


PLAIN = card(audit())


def test_nothing_differs_from_itself() -> None:
    found = compared(PLAIN, PLAIN)
    assert found.changes == ()
    assert found.measured_again == 0
    assert {(c.changed, c.state, c.causes) for c in found.claims} == {(False, "identical", ())}
    assert "0 of 2 claims changed" in printed(found)


# --- classes --------------------------------------------------------------------------------------


def test_a_tolerance_is_a_rule_of_its_claim_alone() -> None:
    strict = factories.claim("layers", "good", checks=[factories.aligns(at_most=0.02)])
    found = compared(PLAIN, card(audit(claims=[strict, CLAIMS[1]])))
    assert changes(found, "rule") == [("toy.layers: checks distance at_most", 0.1, 0.02)]
    assert {c.kind for c in found.changes} == {"rule"}
    one = of(found)
    assert (one.changed, one.state, one.causes) == (True, "identical", ("rule",))
    assert not of(found, "missed").changed
    assert "likely the rule, by which the same numbers are decided otherwise" in printed(found)


def test_a_reworded_reason_is_no_cause() -> None:
    told = factories.claim("layers", "good", checks=[factories.aligns(reason="Because.")])
    found = compared(PLAIN, card(audit(claims=[told, CLAIMS[1]]), by=2.0, noise=0.01))
    (change,) = found.changes
    assert (change.kind, change.matters, change.after) == ("documentation", False, "Because.")
    assert of(found).causes == ()
    assert of(found).parts[0].paired  # the rule decides as before


def test_seeds_of_the_rule_are_a_rule_and_prevent_pairing() -> None:
    seeds = {"quick": [0, 1, 2, 3, 4], "paper": [0, 1, 2, 3, 4, 5]}
    found = compared(PLAIN, card(audit(seeds=seeds)))
    assert ("toy.layers: seeds paper", [0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5]) in changes(
        found, "rule"
    )
    (part,) = of(found).parts
    assert (part.paired, part.state) == (False, "within_noise")
    assert part.interval is not None
    assert "Welch t, 5 against 6 seeds" in part.interval.method


def test_a_setting_concerns_its_experiment_alone() -> None:
    data = factories.audit_data()
    guess = {**factories.GUESS, "value": 0.05}
    data["experiments"]["assumed_opposite"]["settings"]["init_scale"] = guess
    after = card(audit(experiments=data["experiments"]), by=0.2)
    found = compared(PLAIN, after)
    assert changes(found, "settings") == [
        ("assumed_opposite: init_scale value", 0.02, 0.05),
        ("assumed_opposite: init_scale paper", 0.02, 0.05),
    ]
    assert of(found, "missed").causes == ("settings",)
    assert of(found, "layers").changed
    assert of(found, "layers").causes == ()
    assert "likely the settings, which alone differs" in printed(found)
    assert "nothing that is recorded differs" in printed(found)


def test_a_source_that_is_found_moves_the_evidence() -> None:
    data = factories.audit_data()
    stated = factories.setting(0.02)
    data["experiments"]["assumed_opposite"]["settings"]["init_scale"] = stated
    found = compared(PLAIN, card(audit(experiments=data["experiments"])))
    one = of(found, "missed")
    assert one.before is not None
    assert one.after is not None
    assert (one.before.evidence, one.after.evidence) == ("assumed", "exact")
    assert (one.before.verdict, one.after.verdict) == ("inconclusive", "contradicted")
    assert (one.state, one.causes) == ("identical", ("settings",))


def test_code_environment_and_records_are_told_apart() -> None:
    newer = factories.make_lookup(audit())

    def lookup(batch: Batch) -> Mapping[int, Record]:
        found = newer(batch)
        environment = {"device": "cuda: H100", "packages": {"numpy": "2.4.0", "torch": "2.16.0"}}
        return {
            seed: r.model_copy(
                update={
                    "code": "feed" * 4,
                    "fingerprint": f"new-{r.fingerprint}",
                    "environment": r.environment.model_copy(
                        update={**environment, "revision": "fff"}
                    ),
                }
            )
            for seed, r in found.items()
            if seed != 4 or batch.experiment != "good"
        }

    found = compared(PLAIN, build(audit(), "paper", lookup))
    assert changes(found, "code") == [
        ("hash", ["c0de" * 4], ["feed" * 4]),
        ("revision", ["0123abc"], ["fff"]),
    ]
    assert changes(found, "environment") == [
        ("device", ["cpu"], ["cuda: H100"]),
        ("packages: torch", "2.15.0", "2.16.0"),
    ]
    places = [place for place, *_ in changes(found, "records")]
    assert places[0] == "cells: good experiment with its own settings, paper scale seeds"
    assert found.measured_again == found.records == len(PLAIN.records) - 3
    one = of(found)
    assert one.after is not None
    assert one.after.verdict == "not_tested"
    assert one.causes == ("code", "environment", "records")
    assert "code, environment and records differ; which of them did it cannot be told" in printed(
        found
    )


def test_a_revision_alone_is_no_cause() -> None:
    def again(r: Record) -> Any:
        return r.environment.model_copy(update={"revision": "fff"})

    record = next(iter(factories.make_lookup(audit())(_batch()).values()))
    found = compared(PLAIN, card(audit(), by=2.0, noise=0.01, environment=again(record),
                                 fingerprint="other"))  # fmt: skip
    assert [c.matters for c in found.changes] == [False]
    assert of(found).causes == ("records",)
    assert "likely that it was measured again" in printed(found)


def _batch() -> Batch:
    return Batch("good", "paper", (), factories.SEEDS)


def test_custom_records_are_shown_with_what_they_changed() -> None:
    custom = CustomModel(experiment="good", settings={"steps": 7}, seeds=(0, 1))
    after = PLAIN.model_copy(update={"custom_records": 2, "custom": (custom,)})
    found = compared(PLAIN, after)
    assert changes(found, "records") == [("custom: good with steps=7", None, [0, 1])]
    assert "custom: good with steps=7: new: [0, 1]" in printed(found)
    assert not any(c.changed for c in found.claims)


# --- noise ----------------------------------------------------------------------------------------


def test_within_noise_says_what_could_have_been_seen() -> None:
    found = compared(PLAIN, card(audit(), by=1.01, noise=0.05, code="feed" * 4))
    one = of(found)
    assert (one.changed, one.state, one.causes) == (False, "within_noise", ())
    (part,) = one.parts
    assert (part.form, part.paired) == ("ratio", True)
    assert part.difference == pytest.approx(1.01, rel=0.02)
    assert part.interval is not None
    assert part.interval.low < 1 < part.interval.high
    assert part.detectable is not None
    assert part.detectable > part.interval.high / part.difference
    text = printed(found)
    assert "Not shown to be equal: these seeds would have shown a ratio of" in text
    assert "paired by 5 seeds" in text


def test_a_ratio_that_rounds_to_one_is_told_in_percent() -> None:
    text = printed(compared(PLAIN, card(audit(), by=1.0, noise=1e-6, code="feed" * 4)))
    assert "a ratio of 1.00 or more" not in text
    assert re.search(r"would have shown a change by \d\S* % either way", " ".join(text.split()))


def test_beyond_noise_is_laid_to_the_class_that_alone_differs() -> None:
    found = compared(PLAIN, card(audit(), by=1.5, noise=0.01, code="feed" * 4))
    one = of(found)
    assert (one.changed, one.state, one.causes) == (True, "beyond_noise", ("code",))
    assert "likely the code, which alone differs" in printed(found)


def test_a_decision_that_flips_within_noise_says_so() -> None:
    tight = [factories.claim("layers", "good", checks=[factories.aligns(at_most=0.034)])]
    found = compared(
        card(audit(claims=tight)), card(audit(claims=tight), by=1.02, noise=0.1, code="feed" * 4)
    )
    one = of(found)
    assert one.before is not None
    assert one.after is not None
    assert one.before.decision != one.after.decision
    assert one.state == "within_noise"
    assert "within noise, which may be all there is" in cause_words(one)


def test_the_error_is_divided_over_the_parts() -> None:
    three = [factories.claim("layers", "good", checks=[factories.by_layer()])]
    found = compared(card(audit(claims=three)), card(audit(claims=three), by=1.5, noise=0.01))
    parts = of(found).parts
    assert len(parts) == 3
    for part in parts:
        assert part.interval is not None
        assert part.interval.confidence == pytest.approx(1 - 0.05 / 3)
        assert "error divided by 3 parts" in part.interval.method


def test_claims_come_and_go() -> None:
    found = compared(PLAIN, card(audit(claims=CLAIMS[:1])))
    gone = of(found, "missed")
    assert gone.after is None
    assert gone.changed
    assert "toy.missed gone, was INCONCLUSIVE" in printed(found)
    back = of(compared(card(audit(claims=CLAIMS[:1])), PLAIN), "missed")
    assert back.before is None


# --- sides ----------------------------------------------------------------------------------------


def run(*arguments: str) -> int:
    return run_command(["diff", *arguments])


@pytest.fixture
def reports(tmp_path: Path) -> tuple[Path, Path]:
    write_report(PLAIN, tmp_path / "a", ("json",))
    write_report(card(audit(), by=1.5, noise=0.01, code="feed" * 4), tmp_path / "b", ("json",))
    return tmp_path / "a" / "paper" / "toy", tmp_path / "b" / "paper" / "toy" / "scorecard.json"


def test_folders_and_files_and_json(
    reports: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(reports[0]), str(reports[1]), "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert Comparison.model_validate(data).claims[0].causes == ("code",)
    assert data["before"]["tier"] == "paper"
    assert run(str(reports[0]), str(reports[1])) == 0
    assert "likely the code" in capsys.readouterr().out


def edited(folder: Path, name: str, *edits: tuple[str, str]) -> Path:
    text = TEXT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_two_audits(tmp_path: Path) -> None:
    old = read_side(str(TOY), None)
    new = read_side(
        str(
            edited(
                tmp_path, "another_name.yaml",
                ("at_most: 0.1", "at_most: 0.2"),
                ("quick: {value: 500, reason", "quick: {value: 600, reason"),
                ("alternatives: [16, 64]", "alternatives: [16, 64, 128]"),
                ("reason: There is none.", "reason: We found none."),
                ("quick: [0, 1, 2, 3, 4]", "quick: [0, 1, 2, 3, 5]"),
            )
        ), None,
    )  # fmt: skip
    found = compare(old, new)
    rule = changes(found, "rule")
    assert ("toy.direction: checks direction at_most", 0.1, 0.2) in rule
    assert ("toy.direction: seeds quick", [0, 1, 2, 3, 4], [0, 1, 2, 3, 5]) in rule
    assert changes(found, "settings") == [
        ("all: steps quick value", 500, 600),
        ("training: batch alternatives", [16, 64], [16, 64, 128]),
    ]
    (words,) = [c for c in found.changes if c.kind == "documentation"]
    assert words.place == "variables: Pseudocode reviews R1 reason"
    assert found.claims == ()
    assert found.compared == ("rule", "settings", "documentation")
    text = printed(found)
    assert "environment not compared: one side does not hold it" in text
    assert "Results not compared" in text


def test_an_audit_beside_a_scorecard_is_compared_at_its_tier() -> None:
    one = audit()
    found = compare(ComparedScorecard("audit", one, None), ComparedScorecard("card", None, PLAIN))
    assert found.changes == ()
    other = compare(
        ComparedScorecard("audit", one, None),
        ComparedScorecard("card", None, factories.make_scorecard(tier="quick")),
    )
    assert {c.kind for c in other.changes} <= {"rule"}


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_paper_at_two_revisions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audits = tmp_path / "audits"
    edited(audits, "toy.yaml")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "one")
    report = tmp_path / "reports" / "paper" / "toy" / "scorecard.json"
    report.parent.mkdir(parents=True)
    edited(audits, "toy.yaml", ("by: 1.1", "by: 1.2"))
    write_report(build(load_audit(TOY, today=TODAY), "paper", lambda _: {}), tmp_path / "reports",
                 ("json",))  # fmt: skip
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "two")
    before = read_side("toy@HEAD~1", audits)
    after = read_side("toy@HEAD", audits)
    assert (before.scorecard, before.slug) == (None, "toy")
    assert after.scorecard is not None
    found = compare(before, after)
    assert changes(found, "rule") == [("toy.beats-ridge: checks error by", 1.1, 1.2)]
    (note,) = found.notes
    assert "toy@HEAD: its scorecard was judged by another rule than its audit states" in note
    assert run("toy@HEAD~1", "toy@HEAD", "--audits", str(audits)) == 0
    assert "1.1 → 1.2" in capsys.readouterr().out
    for wrong, says in (
        ("toy@nowhere", "'nowhere' is no revision"),
        ("toy@--output=x", "is no revision"),
        ("toys@HEAD", "no audits/toys.yaml at that revision"),
    ):
        with pytest.raises(UsageError, match=says):
            read_side(wrong, audits)


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("nowhere.json", "no such file, folder or paper"),
        ("ahn2024", "Did you mean 'ahn2023'"),
        (".", "holds no scorecard.json"),
    ],
)
def test_what_cannot_be_found_is_one_line(
    argument: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert run(argument, str(TOY)) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_different_papers_are_not_compared(reports: tuple[Path, Path]) -> None:
    other = write_report(factories.make_scorecard("toy_two"), reports[0].parents[2], ("json",))
    assert run(str(reports[0]), str(other[0])) == 2


def test_a_bad_audit_is_told_with_its_faults(tmp_path: Path) -> None:
    path = edited(tmp_path, "other.yaml", ("weight: 0.5", "weight: 1.5"))
    with pytest.raises(SpecError, match=r"at most 1.*\[RA053\]"):
        read_side(str(path), None)
    assert run(str(TOY), str(path)) == 2


def test_a_shipped_paper_is_compared_by_its_slug() -> None:
    side = read_side("ahn2023", None)
    assert side.audit is not None
    assert not [c for c in compare(side, side).changes if isinstance(c, Change)]


def test_diff_starts_without_torch() -> None:
    code = "import reproaudit.commands.diff, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_custom_records_are_told_in_the_report(tmp_path: Path) -> None:
    from reproaudit.running.fingerprint import fingerprint_of
    from reproaudit.running.store import Store
    from reproaudit.scorecard.from_store import CUSTOM, scorecard_of

    one, store = audit(), Store(tmp_path)
    for record in factories.make_lookup(one)(_batch()).values():
        settings = {**record.settings, "steps": 7}
        custom = record.model_copy(update={"tier": CUSTOM, "settings": settings})
        name = fingerprint_of(custom)
        store.write(custom.model_copy(update={"fingerprint": name}))
    found = scorecard_of(store, one, "paper")
    assert found.custom_records == 5
    assert found.custom == (
        CustomModel(experiment="good", settings={"steps": 7}, seeds=factories.SEEDS),
    )
    out = io.StringIO()
    render_scorecard(found, Console(file=out, width=80))
    for text in (out.getvalue(), render_html(found), render_markdown(found)):
        assert "good with steps = 7, seeds 0–4" in text


# --- files ----------------------------------------------------------------------------------------


def lines_of(blocks: Iterable[o.Piece]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, o.Section):
            yield from (o.plain_line(block.title), *lines_of(block.blocks))
        elif isinstance(block, o.Facts):
            yield from (o.plain_line(text) for _, text in block.rows)
        elif isinstance(block, o.Paragraph):
            yield o.plain_line(block.text)


def test_pages_tell_what_the_terminal_tells(tmp_path: Path) -> None:
    found = compared(PLAIN, card(audit(claims=CLAIMS[:1]), by=1.5, noise=0.2))
    told = comparison_document(found)
    lines = list(lines_of((*told.lead, *told.blocks)))
    assert any("toy.missed gone, was" in line for line in lines)
    page, text = html_page(told), markdown_text(told)
    shown = " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())
    for line in lines:
        assert line in shown
        assert escaped(line)[1:] in text.replace("**", "")
        assert line in printed(found)
    assert page == html_page(comparison_document(found))


def test_hostile_text_stays_text_on_pages() -> None:
    hostile = "<script>alert(1)</script> | `x` \x1b[31m"
    found = compare(ComparedScorecard(hostile, None, PLAIN), ComparedScorecard("b", None, PLAIN))
    told = comparison_document(found)
    page, text = html_page(told), markdown_text(told)
    for one in (page, text):
        assert "<script" not in one
        assert "\x1b" not in one
    assert "script-src" not in page
    assert "default-src 'none'" in page


def test_files_are_written_where_asked(
    reports: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = map(str, reports)
    out = tmp_path / "out"
    assert run(before, after, "--format", "md,html", "--out", str(out)) == 0
    assert sorted(path.name for path in out.iterdir()) == ["difference.html", "difference.md"]
    said = capsys.readouterr().out.splitlines()
    assert said == [f"wrote {out / 'difference.html'}", f"wrote {out / 'difference.md'}"]
    assert run(before, after, "--format", "md", "--out", str(out), "--json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["claims"]
    assert captured.err.splitlines() == [f"wrote {out / 'difference.md'}"]
    assert run(before, after, "--format", "pdf") == 2
    assert "--format: no format 'pdf'. Known: html, json, md, terminal." in capsys.readouterr().err


def test_alternatives_that_were_left_out_are_told() -> None:
    """The defect: a flipping alternative that was no longer run was no change."""
    whole = factories.make_scorecard()
    first = whole.claims[0]
    run = AlternativeRunModel(
        setting="width", value=128, tier="paper", decision=Decision.MISSED, flips=True, note=""
    )
    with_one = first.model_copy(update={"alternatives": (run,)})
    before = whole.model_copy(update={"claims": (with_one, *whole.claims[1:])})
    found = compare(ComparedScorecard("a", None, before), ComparedScorecard("b", None, whole))
    (told,) = found.changes
    assert (told.kind, told.claim, told.matters) == ("records", first.id, True)
    assert told.place == f"alternatives: {first.id} width = 128, paper tier"
    assert (told.before, told.after) == ("missed", None)
