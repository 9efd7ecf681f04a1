"""What stands behind "confirmed": records that are here, and the conditions known before."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

import pytest
from chains import commit
from places import CONFIRM, PAPER, Place

from miniatures import audit_data, claim, write_paper
from reproaudit.reports.warning import WITHOUT_RECORDS
from reproaudit.running.shipped import FILE_NAME
from reproaudit.running.store import Store
from reproaudit.seals.chain import append, last_seal
from reproaudit.seals.confirming import derived_seeds, error_of_look
from reproaudit.seals.entries import (
    BegunEntry,
    ClaimResult,
    Draft,
    ResultEntry,
    SealsEntry,
)

REPORT = ("report", "mini", "--tier", "paper", "--format", "terminal")
ALONE = "Confirmed by the chain alone; its records are not here."


def forge(place: Place) -> None:
    """Adds a confirmation that fits the chain, though nothing was run."""
    shown = next(one for one in reversed(place.entries) if isinstance(one, ResultEntry))

    def made(there: tuple[SealsEntry, ...]) -> Iterable[Draft]:
        seal = last_seal(there)
        assert seal is not None
        rule = {"revision": seal.revision, "rule": seal.rule}
        seeds = {tier: derived_seeds(seal.rule, tier, 6) for tier in ("quick", "paper")}
        begun = {"look": 1, "error": error_of_look(1, 0.05), "seeds": seeds}
        yield Draft(BegunEntry, {**rule, **begun})
        invented = ClaimResult(decision="met", verdict="supported", estimate=0.02, numbers={})
        result = {
            "judged_by": shown.judged_by,
            "confirmation": True,
            "records": "0" * 64,
            "claims": dict.fromkeys(shown.claims, invented),
        }
        yield Draft(ResultEntry, {**rule, **result})

    append(place.file, "mini", made)


def test_entries_alone_confirm_nothing(sealed: Place) -> None:
    """The defect: two lines written by hand, with nothing run, were shown as confirmed."""
    sealed.card(*PAPER)
    forge(sealed)
    commit(sealed.folder)
    for command in (PAPER, REPORT):
        shown = sealed.card(*command)
        assert (shown["verdict"], shown["status"]) == ("supported", "exploratory")
        assert ALONE in shown["history"]
    code, out, _ = sealed("seal", "mini", "--verify", "--strict")
    assert code == 0, "the chain itself has no fault"
    assert "mini: confirmed by the chain alone; its records are not here" in out


def test_a_confirmation_is_shown_while_all_its_records_are_here(sealed: Place) -> None:
    seeds = set(sealed.card(*CONFIRM)["seeds"])
    sealed.card(*PAPER)
    commit(sealed.folder)
    assert sealed.card(*REPORT)["status"] == "confirmed"
    assert "by the chain alone" not in sealed("seal", "mini", "--verify")[1]
    records = [
        file
        for file in (sealed.folder / "runs" / "mini" / "paper").rglob("*.json")
        if any(f'"seed":{seed}' in file.read_text().replace(" ", "") for seed in seeds)
    ]
    assert records
    records[0].unlink()
    shown = sealed.card(*REPORT)
    assert shown["status"] == "exploratory"
    assert ALONE in shown["history"]
    assert any(one.endswith("not here: 1 of the paper tier.") for one in shown["history"])
    assert "by the chain alone" in sealed("seal", "mini", "--verify")[1]


@pytest.fixture
def conditional(at: Place) -> Place:
    """A claim that is met, though an alternative of its guessed setting is far beyond the bound."""
    guess = {"value": 0.02, "source": "assumption", "why": "Small.", "alternatives": [0.5]}
    data = audit_data()
    data["experiments"]["guessed"]["settings"]["level"] = guess
    shutil.rmtree(at.audits)
    write_paper(
        at.audits,
        experiments=data["experiments"],
        claims=[claim("mini", "supported", experiment="guessed")],
    )
    assert at("seal", "mini")[0] == 0
    commit(at.folder, "seal")
    return at


def varied(place: Place) -> tuple[int, str, str]:
    out = ("--out", str(place.folder / "reports"))
    return place("multiverse", "mini", "--tier", "paper", *out)


@pytest.mark.parametrize("is_code_edited", [False, True])
def test_a_condition_outlives_the_records_that_showed_it(
    conditional: Place, is_code_edited: bool
) -> None:
    """The defect: without the records of the alternatives, or with code edited neutrally, the
    claim was supported, and nothing said that it had been conditional."""
    conditional.card(*PAPER)
    assert varied(conditional)[0] == 0
    before = conditional.entries
    assert varied(conditional)[0] == 0
    assert conditional.entries == before, "the same again says nothing new"
    if is_code_edited:
        conditional.edit("mini.py", "EXPERIMENTS = {", "MORE = 1\nEXPERIMENTS = {")
        shown = conditional.card(*PAPER)
    else:
        shutil.rmtree(conditional.folder / "runs" / "mini" / "multiverse-paper")
        shown = conditional.card(*REPORT)
        missing = "its store lists, some are not here: "
        (lost,) = (one for one in shown["history"] if missing in one)
        assert lost.endswith(" of alternatives at the paper tier.")
    assert shown["verdict"] == "supported"
    told = [one for one in shown["history"] if "with the alternatives that were run by" in one]
    assert len(told) == 1
    assert "gave conditional" in told[0]


@pytest.mark.parametrize("is_whole", [True, False])
def test_records_that_were_left_out_of_a_shipment_are_told(
    conditional: Place, is_whole: bool
) -> None:
    """The defect: "0 of 1 run at this tier", though the chain has what the alternative gave."""
    conditional.card(*PAPER)
    assert varied(conditional)[0] == 0
    runs, reports = conditional.folder / "runs", conditional.folder / "reports"
    if not is_whole:
        whole, slim = Store(runs), Store(conditional.folder / "slim")
        for record in whole.records("mini", "paper"):
            slim.write(record)
        shutil.rmtree(runs)
        slim.root.rename(runs)
    out = ("--out", str(reports / "paper" / "mini" / FILE_NAME))
    assert conditional("export", "mini", "--to", "records", "--tier", "paper", *out)[0] == 0
    assert conditional("report", "mini", "--tier", "paper", "--out", str(reports))[0] == 0
    shutil.rmtree(runs)
    told = " ".join(conditional.card(*REPORT, "--out", str(reports))["history"])
    assert ("the records that are here are not those" in told) is not is_whole


def test_a_confirmation_keeps_the_condition_of_the_own_seeds(conditional: Place) -> None:
    """The defect: `run --confirm` ran no alternative, and so made the claim supported."""
    assert conditional.card(*PAPER)["verdict"] == "supported"
    code, _, errors = varied(conditional)
    assert code == 0, errors
    assert conditional.card(*REPORT)["verdict"] == "conditional"
    shown = conditional.card(*CONFIRM)
    assert (shown["verdict"], shown["status"]) == ("conditional", "confirmed")
    assert "level = 0.5" in shown["why"]
    assert "decisive on the audit's own seeds: level = 0.5" in shown["why"]
    assert conditional.card(*REPORT)["status"] == "confirmed"


def test_an_older_page_is_held_against_the_chain_beside_it(sealed: Place) -> None:
    """The defect: put back and rendered again, a page from before a bad result said "confirmed"."""
    assert sealed(*PAPER)[0] == 0
    commit(sealed.folder, "results")
    assert sealed(*CONFIRM)[0] == 0
    commit(sealed.folder, "confirmed")
    pages = sealed.folder / "reports"
    assert sealed.card(*REPORT)["status"] == "confirmed"
    shutil.copytree(pages, sealed.folder / "then")
    sealed.edit("mini.py", "ends = [settings.level *", "ends = [50 * settings.level *")
    assert sealed(*PAPER)[0] == 0
    commit(sealed.folder, "worse")
    for folder in (pages, sealed.folder / "runs"):
        shutil.rmtree(folder)
    shutil.copytree(sealed.folder / "then", pages)
    shown = sealed.card(*REPORT)
    assert (shown["verdict"], shown["status"]) == ("supported", "exploratory")
    assert WITHOUT_RECORDS in shown["history"]
    assert any("gave contradicted" in one for one in shown["history"]), shown["history"]
    sealed.edit("mini.yaml", "at_most: 0.1\n", "at_most: 0.05\n")
    again = sealed.card(*REPORT)
    assert again["rule_is_younger"]
    assert again["history"].count(WITHOUT_RECORDS) == 1
    assert any("at_most: 0.1 → 0.05" in one for one in again["history"])
