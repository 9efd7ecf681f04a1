"""Configurations beside logs, and the seed among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import told_in_one_line

from reproaudit.logs.configurations import configured, seed_of
from reproaudit.logs.logged import LogError, LoggedRun
from reproaudit.logs.mapping import MappingFile
from reproaudit.logs.opening import parse_yaml


def a_run(folder: Path = Path("/nowhere"), *parts: str, **changes: Any) -> LoggedRun:
    return LoggedRun("run", "table", folder, parts, (), {}, **changes)


def found(folder: Path, **changes: Any) -> dict[str, Any]:
    return dict(configured(a_run(folder, **changes), folder.parent, {}).config)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (".hydra/config.yaml", "model: {layers: 3}\nlr: 1e-3\n", {"model.layers": 3, "lr": 1e-3}),
        ("config.yaml", "a: 0x10\nb: 1:30\nc: 1:30.5\n", {"a": 16, "b": "1:30", "c": "1:30.5"}),
        (
            "config.yaml",
            "wandb_version: 1\nlr: {desc: null, value: 0.1}\n_wandb: {value: {t: {1: [1]}}}\n",
            {"lr": 0.1},
        ),
        ("args.json", '{"seed": 3, "sizes": [1, 2], "none": null}',
         {"seed": 3, "sizes": (1, 2), "none": None}),
        ("hparams.yaml", "date: 2024-01-02\nnested: [[1, 2]]\n",
         {"date": "2024-01-02", "nested": "[[1, 2]]"}),
        ("training_args.json", '{"learning_rate": 5e-05}', {"learning_rate": 5e-05}),
        ("config.yaml", "", {}),
    ],
)  # fmt: skip
def test_the_forms_of_configurations(
    tmp_path: Path, name: str, text: str, expected: dict[str, Any]
) -> None:
    file = tmp_path / "run" / name
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert found(tmp_path / "run") == expected


def test_the_nearest_folder_with_a_configuration_counts(tmp_path: Path) -> None:
    inner = tmp_path / "logs" / "run" / "tb"
    inner.mkdir(parents=True)
    (tmp_path / "args.json").write_text('{"lr": 3}')  # above what was given
    run = a_run(inner)
    assert configured(run, tmp_path / "logs", {}).config == {}
    (tmp_path / "logs" / "args.json").write_text('{"lr": 2}')
    assert configured(run, tmp_path / "logs", {}).config == {"lr": 2}
    (tmp_path / "logs" / "run" / "args.json").write_text('{"lr": 1}')
    assert configured(run, tmp_path / "logs", {}).config == {"lr": 1}


def test_sources_that_disagree_are_refused(tmp_path: Path) -> None:
    (tmp_path / "args.json").write_text('{"lr": 0.1}')
    assert found(tmp_path, config={"lr": "0.1"}) == {"lr": "0.1"}
    with pytest.raises(LogError, match=r"lr = 0.1, but table's log has 0.2"):
        found(tmp_path, config={"lr": 0.2})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: !!python/object/apply:os.system ['true']", "tag"),
        ("a: !custom 1", "tag"),
        ("a: &x [1]\nb: *x", "alias"),
        ("a: [1", "no plain YAML"),
        ("- 1", "no names"),
        ("\t", "no plain YAML"),
        ("? [a]\n: 1", "no plain YAML"),
        ("a: 2024-13-45", "no plain YAML"),
        ("a: !!float ''", "no plain YAML"),
        ("a: !!bool q", "no plain YAML"),
        ("a: !!timestamp x", "no plain YAML"),
        ('a: "\\UFFFFFFFF"', "no plain YAML"),
        (f"a: 0x{'f' * 10_000}", "no plain YAML"),
        ("[" * 10_000, "nested too deeply"),
        (f"a: {'x' * 300_000}", "300,003 bytes; expected at most 262,144"),
    ],
)
def test_what_is_no_plain_yaml_is_told_and_states_nothing(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "config.yaml").write_text(text)
    (tmp_path / "args.json").write_text('{"lr": 1}')
    run = configured(a_run(tmp_path), tmp_path.parent, {})
    assert run.config == {"lr": 1}
    (why,) = run.unread
    assert why in run.remarks
    assert said in why
    assert "\n" not in why


def test_settings_that_one_text_joins_are_settings_each(tmp_path: Path) -> None:
    joined = "pretrained=ACME/net-160m,dtype=float16,seed=1"
    assert found(tmp_path, config={"config.model_args": joined, "note": "a = b"}) == {
        "config.model_args": joined,
        "config.model_args.pretrained": "ACME/net-160m",
        "config.model_args.dtype": "float16",
        "note": "a = b",
    }


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    with told_in_one_line():
        parse_yaml(text, "config.yaml")


# --- seeds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "config", "seed"),
    [
        ((), {"seed": 3}, 3),
        ((), {"random_seed": "3"}, 3),
        ((), {"args.seed": 3}, 3),
        ((), {"train.rng-seed": 3}, 3),
        ((), {"seed": None, "manual_seed": 3}, 3),
        (("logs", "seed_3", "tb"), {}, 3),
        (("logs", "adam-seed=3"), {}, 3),
        (("SEED 3",), {}, 3),
        (("happy-run-1", "version_2"), {"seed": 3}, 3),
        (("seed3",), {"seed": 3}, 3),
        ((), {"dataset.seed": 3, "model.seed": 3}, 3),
    ],
)
def test_where_a_seed_is_found(parts: tuple[str, ...], config: dict[str, Any], seed: int) -> None:
    assert seed_of(a_run(Path(), *parts, config=config), MappingFile()) == seed


@pytest.mark.parametrize(
    ("parts", "config", "said"),
    [
        ((), {}, "no seed"),
        (("version_2", "reseed_run"), {}, "no seed"),
        ((), {"seed": 1, "args.seed": 2}, "different seeds"),
        (("seed_1",), {"seed": 2}, "different seeds"),
        (("seed_1", "seed_2"), {}, "different seeds"),
        ((), {"seed": "now"}, "'now'"),
        ((), {"seed": 1.5}, "1.5"),
        ((), {"seed": True}, "True"),
        ((), {"seed": -1}, "-1"),
    ],
)
def test_a_seed_that_cannot_be_told_is_asked_for(
    parts: tuple[str, ...], config: dict[str, Any], said: str
) -> None:
    with pytest.raises(LogError) as refused:
        seed_of(a_run(Path(), *parts, config=config), MappingFile())
    assert said in str(refused.value)
    assert 'runs: [{match: "run", seed: 0}]' in str(refused.value)
