"""Audits and modules are found in pairs, shipped ones and those of a user's own folder."""

import json

import pytest

from miniatures import write_paper
from reproaudit.audit.catalog import Catalog, audits_in, shipped_audits
from reproaudit.cli import run_command
from reproaudit.errors import SpecError, UsageError


def test_every_shipped_audit_has_its_module():
    entries = Catalog().entries
    assert list(entries) == sorted(entries)
    assert set(entries) == {file.stem for file in audits_in(shipped_audits())}
    for slug, entry in entries.items():
        assert entry.slug == slug
        assert entry.module.name == f"reproaudit.papers.{slug}"
        assert entry.module.file.exists()


def test_a_users_folder(tmp_path):
    folder = write_paper(tmp_path / "mine")
    (folder / "shared_parts.py").touch()  # which any module may import
    catalog = Catalog(folder)
    assert set(catalog.entries) == {*Catalog().entries, "mini"}
    assert catalog["mini"].module.file == folder / "mini.py"
    slug = next(iter(Catalog().entries))  # a user's paper stands before a shipped one
    assert Catalog(write_paper(tmp_path, slug))[slug].audit_file == tmp_path / f"{slug}.yaml"


def test_an_audit_that_stands_alone_is_judged_and_not_run(tmp_path, cli):
    folder = write_paper(tmp_path / "mine")
    (folder / "mini.py").unlink()
    entry = Catalog(folder)["mini"]
    assert entry.code is None
    with pytest.raises(SpecError, match=r"mini\.yaml: has no module .*but not run"):
        _ = entry.module
    store = ["--audits", str(folder), "--store", str(tmp_path / "runs")]
    assert "checked, reviewed and judged, but not run" in cli("run", "mini", *store, code=2).err
    assert run_command(["check", "mini", "--audits", str(folder)]) == 0
    assert "mini" in cli("list", *store).out
    assert "no records of mini" in cli("report", "mini", *store, code=2).err


def test_a_users_folder_is_named_by_a_variable(tmp_path, monkeypatch):
    write_paper(tmp_path / "one", "one")
    write_paper(tmp_path / "two", "two")
    monkeypatch.chdir(tmp_path / "one")
    monkeypatch.setenv("REPROAUDIT_AUDITS", ".")
    assert "one" in Catalog().entries
    assert "one" not in Catalog(tmp_path / "two").entries, "the command line stands before it"
    monkeypatch.setenv("REPROAUDIT_AUDITS", str(tmp_path / "absent"))
    with pytest.raises(UsageError, match=r"no such folder\. REPROAUDIT_AUDITS names"):
        _ = Catalog().entries


def test_check_takes_slugs_files_and_folders(tmp_path, cli):
    folder = write_paper(tmp_path / "mine")
    for named in (["mini", "--audits", str(folder)], [str(folder)], [str(folder / "mini.yaml")]):
        assert cli("check", *named).out.count("1 audit:") == 1
    (tmp_path / "empty").mkdir()
    assert "no audit is in this folder" in cli("check", tmp_path / "empty", code=2).err
    printed = cli("check", "minj", "--audits", folder, code=2)
    assert "Did you mean 'mini'? Papers of your own: --audits DIR." in printed.err


def test_an_audit_of_the_documentation_alone(tmp_path, cli):
    """No settings, experiments or claims: still checked, listed and reported."""
    text = (shipped_audits() / "wang2024.yaml").read_text(encoding="utf-8")
    documentation = text.split("\naxes:")[0]
    audits, out = tmp_path / "audits", tmp_path / "reports"
    audits.mkdir()
    alone = f"{documentation}\n".replace("slug: wang2024", "slug: mine2024")
    (audits / "mine2024.yaml").write_text(alone, encoding="utf-8")
    mine = ("--audits", str(audits))
    assert cli("check", "mine2024", *mine).out == "1 audit: no errors, no warnings\n"
    assert run_command(["report", "mine2024", *mine, "--out", str(out)]) == 0
    card = json.loads((out / "quick" / "mine2024" / "scorecard.json").read_text(encoding="utf-8"))
    assert card["claims"] == []
    assert len(card["audit"]["variables"]) == 9
    assert "Dataset Splits" in (out / "quick/mine2024/scorecard.html").read_text(encoding="utf-8")
    printed = cli("judge", "mine2024", *mine, "--template", tmp_path / "t", code=2)
    assert "states no claims" in printed.err
