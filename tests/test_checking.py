"""`reproaudit check`: text, JSON and SARIF."""

from pathlib import Path

import pytest

from reproaudit.audit.faults import REMEDIES, Fault
from reproaudit.audit.loading import read_audit
from reproaudit.report.sarif import FINGERPRINT, sarif_log
from test_loading import TEXT

BAD = TEXT.replace("year: 2024", "year: 24").replace("why: As in Figure 2.", "why: TODO")


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An audit with an error and a warning, in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "an audit" / "toy.yaml"
    path.parent.mkdir()
    path.write_text(BAD, encoding="utf-8")
    return path


def faults_in(text: str, file: str = "toy.yaml") -> list[Fault]:
    return read_audit(file, text)[1]


def test_sarif_of_the_command(audit, cli):
    log = cli("check", audit, "--sarif", code=2).data
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["tool"]["driver"]["name"] == "reproaudit"
    found = {(r["ruleId"], r["level"]) for r in run["results"]}
    assert found == {("RA053", "error"), ("RA153", "note")}
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "an%20audit/toy.yaml"
        line = BAD.splitlines()[place["region"]["startLine"] - 1]
        assert line[place["region"]["startColumn"] - 1 :].startswith(("24", "TODO"))


def test_sarif_knows_every_rule():
    rules = sarif_log([])["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(REMEDIES)
    assert {rule["defaultConfiguration"]["level"] for rule in rules} == {"error", "note"}


def fingerprints(faults: list[Fault]) -> list[str]:
    results = sarif_log(faults)["runs"][0]["results"]
    return [result["partialFingerprints"][FINGERPRINT] for result in results]


def test_a_fingerprint_stays_when_a_fault_only_moves():
    before = fingerprints(faults_in(BAD))
    assert fingerprints(faults_in(f"\n\n\n{BAD}")) == before
    assert len(set(before)) == len(before) == 2
    assert fingerprints(faults_in(BAD, "elsewhere/toy.yaml")) == before
    assert not set(fingerprints(faults_in(BAD, "toys.yaml"))) & set(before)


def test_faults_at_one_place_are_told_apart():
    text = TEXT.replace("    locator: Figure 1\n", "").replace(
        "    short: the loss falls and settles\n", ""
    )
    faults = faults_in(text)
    assert [fault.rule for fault in faults] == ["RA051", "RA051"]
    assert len(set(fingerprints(faults))) == 2


def test_a_file_elsewhere_has_an_absolute_address(tmp_path):
    (fault,) = faults_in("", str(tmp_path / "ü.yaml"))
    result = sarif_log([fault])["runs"][0]["results"][0]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (tmp_path / "ü.yaml").as_uri()


def test_text_and_json_tell_the_same(audit, cli):
    data = cli("check", audit, "--json", code=2).data
    *lines, count = cli("check", audit, code=2).out.splitlines()
    assert count == "1 audit: 1 error, 1 warning"
    places = [f"{fault['file']}:{fault['line']}:{fault['column']}" for fault in data]
    assert [line.rpartition(" [")[0].split(": ")[0] for line in lines] == places
    assert [line[-6:-1] for line in lines] == [fault["rule"] for fault in data]
