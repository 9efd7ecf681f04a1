"""Scorecards in formats that others read: complete, well-formed whatever they hold, repeatable."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import factories
from miniatures import write_paper
from reproaudit.cli import run_command
from reproaudit.errors import UsageError
from reproaudit.reports.export.codecheck import (
    CODECHECK_SPECIFICATION,
    Certificate,
    Codechecker,
    certificate,
    codecheck_yml,
    orcid_id,
)
from reproaudit.reports.export.junit import junit_xml
from reproaudit.reports.export.provenance import identifiers, running_times
from reproaudit.reports.export.ro_crate import METADATA, CrateFile, crate_metadata
from reproaudit.scorecard.model import Scorecard

CARD = factories.make_scorecard()
CARBERRY = "0000-0002-1825-0097"
HOSTILE = (
    "]]> <b>\x00\x1b[31m\x0b ‮ \ud800 \ufffe & 'quoted' \"twice\"\r\n---\n- x: &a *a\t# \U0001f600"
)
ANY = st.text() | st.sampled_from([HOSTILE, "- a: b", "2026-01-01", "null", "%YAML", "..."])


def replaced(card: Scorecard, text: str) -> Scorecard:
    """The scorecard with one text wherever a paper or a reviewer may write anything."""
    claims = tuple(
        claim.model_copy(
            update={
                "statement": text,
                "locator": text,
                "why": text,
                "parts": tuple(part.model_copy(update={"name": text}) for part in claim.parts),
            }
        )
        for claim in card.claims
    )
    paper = {**card.paper, "title": text, "authors": [text, "B. Second"], "venue": text}
    return card.model_copy(update={"claims": claims, "paper": paper})


# --- what all of them state -----------------------------------------------------------------------


def test_a_paper_of_arxiv_has_a_doi() -> None:
    found = identifiers({"arxiv": "2410.01082", "openreview": "a/b c"})
    assert [(one.scheme, one.value, one.url) for one in found] == [
        ("DOI", "10.48550/arXiv.2410.01082", "https://doi.org/10.48550/arXiv.2410.01082"),
        ("arXiv", "2410.01082", "https://arxiv.org/abs/2410.01082"),
        ("OpenReview", "a/b c", "https://openreview.net/forum?id=a%2Fb%20c"),
    ]
    assert identifiers({"arxiv": None}) == ()


def test_a_run_lasts_from_its_first_record_to_the_end_of_its_last() -> None:
    record = CARD.records[0]
    east = timezone(timedelta(hours=2))
    records = (
        record.model_copy(update={"started": datetime(2026, 1, 1, 13, tzinfo=east), "seconds": 9}),
        record.model_copy(update={"started": datetime(2026, 1, 1, 10), "seconds": 90.0}),
    )
    times = running_times(CARD.model_copy(update={"records": records}))
    assert times == (
        datetime(2026, 1, 1, 10, tzinfo=UTC),
        datetime(2026, 1, 1, 11, 0, 9, tzinfo=UTC),
    )
    assert running_times(CARD.model_copy(update={"records": ()})) is None


# --- JUnit ----------------------------------------------------------------------------------------

OUTCOMES = {
    "supported": None,
    "contradicted": "failure",
    "unattainable": "failure",
    "vacuous": "failure",
    "technical_failure": "error",
    "conditional": "skipped",
    "inconclusive": "skipped",
    "not_tested": "skipped",
}


def test_each_claim_is_a_test_case_with_its_outcome() -> None:
    root = ET.fromstring(junit_xml([CARD]))
    (suite,) = root
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [claim.id for claim in CARD.claims]
    assert {claim.verdict for claim in CARD.claims} == set(OUTCOMES), "the toy shows every verdict"
    for case, claim in zip(cases, CARD.claims, strict=True):
        assert case.get("classname") == f"toy.{claim.experiment}"
        (child,) = case
        expected = OUTCOMES[claim.verdict]
        assert child.tag == (expected or "system-out")
        assert child.text is not None
        assert child.text.startswith(claim.statement)
        if expected is not None:
            assert child.get("type") == claim.verdict
            assert str(child.get("message")).startswith(claim.verdict.replace("_", " ") + ": ")
    found = Counter(OUTCOMES[claim.verdict] for claim in CARD.claims)
    assert suite.attrib == {
        "name": "toy (paper)",
        "tests": str(len(CARD.claims)),
        "failures": str(found["failure"]),
        "errors": str(found["error"]),
        "skipped": str(found["skipped"]),
        "time": f"{CARD.environment.seconds:.3f}",
        "timestamp": "2025-05-01T12:00:00",
    }
    assert root.attrib == {
        "name": "reproaudit",
        **{key: suite.attrib[key] for key in ("tests", "failures", "errors")},
    }


def test_a_failure_says_the_numbers() -> None:
    claim = next(one for one in CARD.claims if one.verdict == "contradicted")
    root = ET.fromstring(junit_xml([CARD]))
    (failure,) = root.findall(f".//testcase[@name='{claim.id}']/failure")
    assert "not ≤ 0.1" in str(failure.get("message"))
    assert "control: missed" in str(failure.text)
    assert f"evidence: {claim.evidence}" in str(failure.text)


def test_two_papers_are_two_suites_and_the_same_bytes_each_time() -> None:
    other = factories.make_scorecard("toy_two", tier="quick")
    text = junit_xml([CARD, other])
    assert [suite.get("name") for suite in ET.fromstring(text)] == [
        "toy (paper)",
        "toy_two (quick)",
    ]
    assert text == junit_xml([CARD, other])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ANY)
def test_any_text_is_well_formed_xml(text: str) -> None:
    written = junit_xml([replaced(CARD, text)]).encode()
    root = ET.fromstring(written)
    assert len(root.findall(".//testcase")) == len(CARD.claims)
    shown = "".join(root.itertext()) + "".join(v for e in root.iter() for v in e.attrib.values())
    assert not set(shown) & {"\x00", "\x1b", "\ud800", "\ufffe", "‮"}


# --- CODECHECK ------------------------------------------------------------------------------------

FILES = {"codecheck/scorecard.html": "The page", "codecheck/scorecard.json": "The numbers"}
SIGNED = Certificate((Codechecker("Josiah Carberry", CARBERRY), Codechecker("B. Second")))


def test_a_codecheck_names_who_checked_and_what_was_made() -> None:
    text = codecheck_yml(CARD, FILES, SIGNED)
    assert text.startswith("---\n")
    data = yaml.safe_load(text)
    assert data["version"] == CODECHECK_SPECIFICATION
    assert data["codechecker"] == [
        {"name": "Josiah Carberry", "ORCID": CARBERRY},
        {"name": "B. Second"},
    ]
    assert data["manifest"] == [{"file": name, "comment": FILES[name]} for name in FILES]
    assert data["paper"]["title"] == CARD.paper["title"]
    assert [one["name"] for one in data["paper"]["authors"]] == CARD.paper["authors"]
    assert data["check_time"] == "2025-05-01 12:04:05"
    assert data["report"] == "codecheck/scorecard.html"
    assert "certificate" not in data
    counts = Counter(claim.headline for claim in CARD.claims)
    assert f"{counts['supported']} supported" in data["summary"]
    assert f"{counts['supported by proxy']} supported by proxy" in data["summary"]


def test_a_published_codecheck_has_its_number_and_address() -> None:
    signed = certificate(["J. Doe"], [], "2026-001", "https://doi.org/10.5281/zenodo.1234567")
    data = yaml.safe_load(codecheck_yml(CARD, FILES, signed))
    assert (data["certificate"], data["report"]) == ("2026-001", signed.report)


@pytest.mark.parametrize(
    ("names", "orcids", "number", "report", "says"),
    [
        ([], [], None, None, "signed by the person who checked, and found none"),
        ([" "], [], None, None, "signed by the person who checked, and found none"),
        (["A", ""], [], None, None, "--codechecker: found an empty name"),
        (["A"], [CARBERRY, CARBERRY], None, None, "--orcid: found 2 for 1 codecheckers"),
        (["A"], ["0000-0002-1825-0098"], None, None, "does not fit the others"),
        (["A"], ["Carberry"], None, None, "expected four groups of four"),
        (["A"], [], "2026-1", None, "--certificate: found '2026-1'"),
        (["A"], [], None, "zenodo.FIXME", "--report-url: found 'zenodo.FIXME'"),
    ],
)
def test_what_no_codecheck_may_say(
    names: list[str], orcids: list[str], number: str | None, report: str | None, says: str
) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        certificate(names, orcids, number, report)
    assert "\n" not in str(caught.value)


def test_an_orcid_loses_its_address() -> None:
    assert orcid_id(f"https://orcid.org/{CARBERRY}") == CARBERRY
    assert orcid_id(" 0000-0001-5109-3700 ") == "0000-0001-5109-3700"
    assert orcid_id("0000-0002-1694-233X") == "0000-0002-1694-233X"


@given(st.integers(0, 10**15 - 1), st.integers(0, 14), st.integers(1, 9))
def test_a_changed_digit_of_an_orcid_is_noticed(number: int, place: int, by: int) -> None:
    body = f"{number:015d}"
    checks = [c for c in "0123456789X" if _is_orcid(body + c)]
    assert len(checks) == 1
    changed = body[:place] + str((int(body[place]) + by) % 10) + body[place + 1 :]
    assert not _is_orcid(changed + checks[0])


def _is_orcid(digits: str) -> bool:
    try:
        orcid_id("-".join(digits[i : i + 4] for i in range(0, 16, 4)))
    except UsageError:
        return False
    return True


@settings(max_examples=60, deadline=None)
@given(ANY.map(lambda text: text.encode("utf-8", "replace").decode()))
def test_any_text_comes_back_from_a_codecheck(text: str) -> None:
    signed = Certificate((Codechecker(text),))
    data = yaml.safe_load(codecheck_yml(replaced(CARD, text), FILES, signed).encode())
    assert data["paper"]["title"] == text
    assert data["codechecker"] == [{"name": text}]


# --- RO-Crate -------------------------------------------------------------------------------------

CRATE = (
    CrateFile("scorecard.html", b"<p>", "text/html", "The page"),
    CrateFile("an audit.yaml", "ü".encode(), "application/yaml", "The audit", made=False),
)


def graph_of(text: str) -> dict[str, dict[str, Any]]:
    """The entities by id; an id that is there twice is an error."""
    entities = json.loads(text)["@graph"]
    found = {one["@id"]: one for one in entities}
    assert len(found) == len(entities)
    return found


def references(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(references, value)) if value else set()
    if isinstance(value, dict):
        if set(value) == {"@id"}:
            return {value["@id"]}
        return set().union(*(references(one) for one in value.values()))
    return set()


def test_a_crate_describes_itself_its_root_and_every_file() -> None:
    text = crate_metadata(CARD, CRATE)
    assert json.loads(text)["@context"] == [
        "https://w3id.org/ro/crate/1.1/context",
        "https://w3id.org/ro/terms/workflow-run/context",
    ]
    graph = graph_of(text)
    assert graph[METADATA] == {
        "@id": METADATA,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
    }
    root = graph["./"]
    assert root["@type"] == "Dataset"
    assert root["conformsTo"] == {"@id": "https://w3id.org/ro/wfrun/process/0.5"}
    assert root["datePublished"] == "2025-05-01"
    assert root["license"] == "No licence is stated. Ask whoever shares this crate."
    assert root["hasPart"] == [{"@id": "scorecard.html"}, {"@id": "an%20audit.yaml"}]
    assert graph["an%20audit.yaml"] == {
        "@id": "an%20audit.yaml",
        "@type": "File",
        "name": "an audit.yaml",
        "description": "The audit",
        "encodingFormat": "application/yaml",
        "contentSize": "2",
        "sha256": hashlib.sha256("ü".encode()).hexdigest(),
    }


def test_a_crate_tells_the_run_and_invents_nobody() -> None:
    graph = graph_of(crate_metadata(CARD, CRATE))
    action = graph["#run-toy-paper"]
    assert graph["./"]["mentions"] == {"@id": "#run-toy-paper"}
    assert action["@type"] == "CreateAction"
    assert action["object"] == {"@id": "an%20audit.yaml"}  # a list of one is no list in RO-Crate
    assert action["result"] == {"@id": "scorecard.html"}
    assert action["startTime"] == "2025-05-01T12:00:00+00:00"
    assert action["endTime"] == "2025-05-01T12:04:05+00:00"
    assert "agent" not in action
    tool = graph[action["instrument"]["@id"]]
    assert (tool["@type"], tool["name"]) == ("SoftwareApplication", "reproaudit")
    needed = [graph[one["@id"]] for one in tool["softwareRequirements"]]
    assert {one["name"]: one["softwareVersion"] for one in needed} == {
        "python": "3.12.3",
        "numpy": "2.4.0",
        "torch": "2.15.0",
    }
    people = [one["name"] for one in graph.values() if one["@type"] == "Person"]
    assert people == CARD.paper["authors"]


def test_a_crate_refers_to_nothing_that_is_not_in_it_or_on_the_web() -> None:
    graph = graph_of(crate_metadata(CARD, CRATE, "https://spdx.org/licenses/CC-BY-4.0"))
    for target in references(list(graph.values())):
        assert target in graph or target.startswith(("http://", "https://"))
    article = graph[graph["./"]["about"]["@id"]]
    assert article["@type"] == "ScholarlyArticle"
    assert graph["https://spdx.org/licenses/CC-BY-4.0"]["@type"] == "CreativeWork"


def test_the_version_that_ran_is_told_rather_than_the_one_that_exports() -> None:
    packages = {"numpy": "2.4.0", "reproaudit": "0.0.7"}
    environment = CARD.environment.model_copy(update={"packages": packages})
    graph = graph_of(crate_metadata(CARD.model_copy(update={"environment": environment}), CRATE))
    assert graph["#reproaudit"]["softwareVersion"] == "0.0.7"
    assert "#software-reproaudit" not in graph


def test_a_crate_without_records_has_no_times() -> None:
    bare = CARD.model_copy(update={"records": ()})
    graph = graph_of(crate_metadata(bare, CRATE))
    assert "endTime" not in graph["#run-toy-paper"]
    assert graph["./"]["datePublished"] == "2025-03-01"


@settings(max_examples=40, deadline=None)
@given(ANY.map(lambda text: text.encode("utf-8", "replace").decode()))
def test_any_text_leaves_a_crate_whole(text: str) -> None:
    graph = graph_of(crate_metadata(replaced(CARD, text), CRATE))
    plain = graph_of(crate_metadata(CARD, CRATE))
    assert {**graph, "#author-2": 0}.keys() == {**plain, "#author-2": 0}.keys()
    assert "\x1b" not in json.dumps(graph, ensure_ascii=False)


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the miniature paper has been run at the quick tier."""
    folder = tmp_path_factory.mktemp("exported")
    audits = write_paper(folder / "audits")
    stores = ["--store", str(folder / "runs"), "--audits", str(audits)]
    assert run_command(["run", "mini", *stores]) == 0
    return folder


class Command:
    """`reproaudit export mini` in an empty working folder."""

    def __init__(self, finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._known = [
            "--audits", str(finished / "audits"), "--store", str(finished / "runs"),
        ]  # fmt: skip
        self._capsys = capsys
        capsys.readouterr()

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = run_command(["export", "mini", *arguments, *self._known])
        said = self._capsys.readouterr()
        return code, said.out, said.err


@pytest.fixture
def command(
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(finished, capsys)


def test_a_crate_on_disk_is_what_its_metadata_say(command: Command, finished: Path) -> None:
    code, out, err = command("--to", "ro-crate")
    assert (code, err) == (0, "")
    folder = Path("exports/mini/quick/ro-crate")
    assert f"wrote {folder / METADATA}" in out.splitlines()
    graph = graph_of((folder / METADATA).read_text(encoding="utf-8"))
    files = {unquote(k): one for k, one in graph.items() if one["@type"] == "File"}
    on_disk = {path.name for path in folder.iterdir()}
    assert on_disk == {*files, METADATA}
    for name, one in files.items():
        data = (folder / name).read_bytes()
        assert one["contentSize"] == str(len(data))
        assert one["sha256"] == hashlib.sha256(data).hexdigest()
    assert (folder / "mini.yaml").read_bytes() == (finished / "audits" / "mini.yaml").read_bytes()
    assert "../index.html" not in (folder / "scorecard.html").read_text(encoding="utf-8")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert command("--to", "ro-crate", "--out", "again")[0] == 0
    assert {path.name: path.read_bytes() for path in Path("again").iterdir()} == before


def test_a_codecheck_on_disk_has_every_file_of_its_manifest(command: Command) -> None:
    words = ["--codechecker", "J. Doe", "--orcid", CARBERRY, "--out", "bundle", "--json"]
    code, out, _ = command("--to", "codecheck", *words)
    assert code == 0
    said = json.loads(out)
    assert (said["paper"], said["tier"], said["format"]) == ("mini", "quick", "codecheck")
    for one in said["files"]:
        data = Path(one["path"]).read_bytes()
        assert (one["size"], one["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    data = yaml.safe_load(Path("bundle/codecheck.yml").read_text(encoding="utf-8"))
    assert len(data["manifest"]) == 3
    assert all((Path("bundle") / one["file"]).is_file() for one in data["manifest"])
    assert (Path("bundle") / data["report"]).is_file()


def test_junit_goes_to_a_file_or_into_a_folder(command: Command) -> None:
    assert command("--to", "junit")[0] == 0
    text = Path("exports/mini/quick/junit.xml").read_bytes()
    Path("there").mkdir()
    assert command("--to", "junit", "--out", "there")[0] == 0
    assert command("--to", "junit", "--out", "there/other.xml")[0] == 0
    assert Path("there/junit.xml").read_bytes() == Path("there/other.xml").read_bytes() == text
    assert len(ET.fromstring(text).findall(".//testcase")) >= 1


def test_sarif_needs_no_records_and_has_the_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    audits = write_paper(tmp_path / "audits")
    known = ["--audits", str(audits), "--store", "nowhere"]
    assert run_command(["export", "mini", "--to", "sarif", *known]) == 0
    path = audits / "mini.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("venue:", "vneue:"), encoding="utf-8")
    assert run_command(["export", "mini", "--to", "sarif", *known]) == 2
    (run,) = json.loads(Path("exports/mini/check.sarif").read_text(encoding="utf-8"))["runs"]
    assert ("RA050", "error") in {(one["ruleId"], one["level"]) for one in run["results"]}
    assert run_command(["check", str(path), "--sarif"]) == 2
    printed = capsys.readouterr().out
    assert json.loads(printed[printed.index("{") :])["runs"] == [run]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--to", "junt"], "--to: no format 'junt'. Did you mean 'junit'?"),
        (["--to", "codecheck"], "signed by the person who checked, and found none"),
        (["--to", "junit", "--orcid", "x"], "--orcid goes with --to codecheck, not with --to"),
        (["--to", "codecheck", "--license", "x"], "--license goes with --to ro-crate"),
        (["--to", "ro-crate", "--license", "MIT"], "--license: found 'MIT'; expected an address"),
        (["--to", "junit", "--tier", "paper"], "no records of mini at the paper tier"),
        (["--to", "junit", "--tier", "big"], "no tier 'big'"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(
    command: Command, arguments: list[str], says: str
) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert list(Path().iterdir()) == []


def test_what_cannot_be_written_is_one_line(command: Command) -> None:
    Path("taken").write_text("a file", encoding="utf-8")
    code, _, err = command("--to", "ro-crate", "--out", "taken")
    assert code == 2
    assert err.startswith("cannot write taken/")
    assert err.count("\n") == 1


def test_exporting_needs_no_torch(finished: Path, tmp_path: Path) -> None:
    known = ["--audits", str(finished / "audits"), "--store", str(finished / "runs")]
    signed = ["--codechecker", "J. Doe"]
    code = (
        "import sys; from reproaudit.cli import run_command; "
        f"codes = [run_command(['export', 'mini', '--to', f, '--out', 'out-' + f, *{known!r}, "
        f"*({signed!r} if f == 'codecheck' else [])]) "
        "for f in ('ro-crate', 'junit', 'sarif', 'codecheck')]; "
        "sys.exit(repr((codes, {'torch', 'numba'} & set(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.stderr.strip() == "([0, 0, 0, 0], set())"
