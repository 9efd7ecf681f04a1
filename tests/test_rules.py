"""Rules that span nodes: their table, and the cases that one edit of the toy does not reach."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproaudit.audit.loading import load_audit
from reproaudit.audit.model import Audit, Control, Source
from reproaudit.audit.rules import RULES, Severity, broken_rules
from reproaudit.audit.rules.rule import DEFINED_RULES, error
from reproaudit.audit.rules.values import fits, key, keys, kind_of, same, shown
from reproaudit.declarations import Declaration
from test_loading import TEXT, TODAY, TOY

AUDIT = load_audit(TOY, today=TODAY)


def broken(audit: Audit, today: date = TODAY) -> list[str]:
    return [rule.id for rule, _ in broken_rules(audit, today)]


def with_claim(index: int, **changes: object) -> Audit:
    claims = list(AUDIT.claims)
    claims[index] = claims[index].model_copy(update=changes)
    return AUDIT.model_copy(update={"claims": tuple(claims)})


def with_check(claim: int, check: int, **changes: object) -> Audit:
    checks = list(AUDIT.claims[claim].checks)
    checks[check] = checks[check].model_copy(update=changes)
    return with_claim(claim, checks=tuple(checks))


def with_declaration(name: str, edit: Callable[[Declaration], Declaration]) -> Audit:
    one = AUDIT.experiments["training"]
    measurements = {**one.measurements, name: edit(one.measurements[name])}
    experiment = one.model_copy(update={"measurements": measurements})
    return AUDIT.model_copy(update={"experiments": {**AUDIT.experiments, "training": experiment}})


def controls(*settings: dict[str, object]) -> tuple[Control, ...]:
    return tuple(
        Control.model_validate(
            {
                "experiment": "training",
                "settings": one,
                "why": "-",
                "scale_reason": "-",
                "name": "shuffled" if number == 0 else None,
            }
        )
        for number, one in enumerate(settings)
    )


def test_toy_breaks_no_rule() -> None:
    assert broken(AUDIT) == []


def test_rules_are_complete_and_permanent() -> None:
    for rule in RULES.values():
        assert re.fullmatch(r"RA[012]\d\d", rule.id)
        assert rule.why.endswith(".")
        assert rule.remedy.endswith(".")
        assert (rule.find is not None) == (rule.id >= "RA1")
    assert all(RULES[rule_id].id == rule_id for rule_id in RULES)


def test_no_id_is_given_twice() -> None:
    with pytest.raises(AssertionError, match="RA101 is defined twice"):
        error("RA101", "Again.", "Again.")(lambda _audit: ())
    assert list(RULES) == sorted(DEFINED_RULES)


def test_only_doubtful_things_are_warnings() -> None:
    warnings = {rule.id for rule in RULES.values() if rule.severity is Severity.WARNING}
    assert warnings == {
        *("RA017", "RA116", "RA119", "RA143", "RA146", "RA153", "RA154"),
        *("RA173", "RA174", "RA184"),
    }


# --- checks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "check", "field"),
    [(0, 0, "loss"), (0, 1, "quantity"), (1, 1, "share"), (1, 2, "earlier"), (1, 2, "later")],
)
def test_kinds_that_follow_training_need_a_series(claim: int, check: int, field: str) -> None:
    quantity = getattr(AUDIT.claims[claim].checks[check], field)
    scalar = quantity.model_copy(update={"measurement": "accuracy", "at": {}})
    assert broken(with_check(claim, check, **{field: scalar})) == ["RA106"]


def test_a_share_at_the_end_needs_no_series() -> None:
    share = AUDIT.claims[1].checks[1].quantities()[0]
    scalar = share.model_copy(update={"measurement": "accuracy", "at": {}})
    assert broken(with_check(1, 1, share=scalar, of_the_rest=False)) == []


@pytest.mark.parametrize(
    ("scale", "level", "ids"),
    [
        ("linear", -5.0, ["RA191"]),
        ("log", 0.0, ["RA108"]),
        ("log", 0.1, []),
        ("logit", 1.0, ["RA108"]),
        ("logit", 0.0, ["RA108"]),
        ("log_complement", -1.0, []),
        ("log_complement", 1.0, ["RA108"]),
    ],
)
def test_levels_fit_their_scale(scale: str, level: float, ids: list[str]) -> None:
    assert broken(with_check(2, 2, scale=scale, at_least=level)) == ids


def test_a_target_on_a_log_scale_is_positive() -> None:
    assert broken(with_check(2, 1, scale="log", target=0.0)) == ["RA108"]
    assert broken(with_check(2, 1, scale="linear", target=0.0)) == []


def test_what_is_compared_along_an_axis_has_the_same_coordinates() -> None:
    lower, upper = AUDIT.claims[1].checks[0].quantities()[0], AUDIT.claims[1].checks[1].quantities()
    pair = {
        "each": "layer",
        "lower": lower,
        "upper": upper[0].model_copy(update={"at": {}}),
    }
    whole = with_check(2, 0, **pair)
    assert broken(whole) == []
    one = AUDIT.experiments["training"].measurements["weight"]
    axis = one.axes[0].model_copy(update={"setting": None, "values": (1, 2)})
    shorter = with_declaration("weight", lambda d: d.model_copy(update={"axes": (axis,)}))
    both = whole.model_copy(update={"experiments": shorter.experiments})
    assert broken(both) == ["RA107"]
    picked = with_check(2, 0, **pair, among=(1, 2))
    assert broken(picked.model_copy(update={"experiments": shorter.experiments})) == []


def test_coordinates_hold_at_quick_scale_too() -> None:
    """Layer 3 exists at the paper's scale only; smoke judges nothing and may have fewer."""
    share = AUDIT.claims[1].checks[1].quantities()[0]
    lost = share.model_copy(update={"at": {"layer": 3}})
    assert broken(with_check(1, 1, share=lost)) == ["RA104"]


def test_true_is_no_coordinate() -> None:
    quantity = AUDIT.claims[1].checks[1].quantities()[0]
    assert broken(with_check(1, 1, share=quantity.model_copy(update={"at": {"layer": True}}))) == [
        "RA104"
    ]


# --- controls -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "ids"),
    [
        ([{"learning_rate": 0.0}], ["RA112"]),
        ([{"learning_rate": 0}], ["RA112"]),
        ([{"learning_rate": 0.0}, {"learning_rate": 0}], ["RA112", "RA112"]),
        ([{"learning_rate": 0.0}, {"labels": "shuffled"}], []),
        ([{"learning_rate": 0.0, "labels": "shuffled"}], []),
        ([{"learning_rate": 0.01}], []),
    ],
)
def test_a_control_trains(settings: list[dict[str, object]], ids: list[str]) -> None:
    found = broken(with_claim(2, controls=controls(*settings)))
    assert [one for one in found if one != "RA185"] == ids


@pytest.mark.parametrize(
    ("settings", "ids"),
    [
        ({"steps": 10000}, ["RA111"]),  # the paper's own, at paper scale
        ({"steps": 500}, ["RA111"]),  # the quick tier's own
        ({"steps": 500, "labels": "shuffled"}, []),
        ({"optimizer": "sgd", "labels": "shuffled"}, ["RA111"]),
        ({"batch": 32.0}, ["RA111"]),
        ({"layers": (1, 2)}, ["RA111"]),
    ],
)
def test_a_control_changes_something(settings: dict[str, object], ids: list[str]) -> None:
    assert broken(with_claim(2, controls=controls(settings))) == ids


def test_an_override_may_move_an_axis_if_it_keeps_what_is_looked_at() -> None:
    kept = with_claim(2, controls=controls({"labels": "shuffled", "layers": (1, 5)}))
    lost = with_claim(2, controls=controls({"labels": "shuffled", "layers": (5,)}))
    assert (broken(kept), broken(lost)) == ([], ["RA114"])


def test_a_positive_control_is_held_to_the_same() -> None:
    (one,) = controls({"optimizer": "sgd"})
    assert broken(with_claim(0, positive_control=one)) == ["RA111"]
    (rate,) = controls({"learning_rate": 0.0})
    assert broken(with_claim(0, positive_control=rate)) == []  # a construction need not train


# --- dates, values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("today", "future"), [(date(2026, 11, 2), False), (date(2026, 11, 1), True)]
)
def test_the_clock_is_injected(today: date, future: bool) -> None:
    assert ("RA154" in broken(AUDIT, today)) == future


VALUES = st.recursive(
    st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 0.5]) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=2).map(tuple),
    max_leaves=3,
)


@given(VALUES, VALUES)
def test_sameness_is_symmetric_and_knows_truth_from_one(a: object, b: object) -> None:
    assert same(a, a)  # type: ignore[arg-type]
    assert same(a, b) == same(b, a)  # type: ignore[arg-type]
    if isinstance(a, bool) != isinstance(b, bool):
        assert not same(a, b)  # type: ignore[arg-type]
    if same(a, b):  # type: ignore[arg-type]
        assert a == b


def test_sameness_of_numbers_and_lists() -> None:
    assert same(1, 1.0)
    assert not same(True, 1)
    assert not same((True,), (1,))
    assert not same((1, 2), (1,))
    assert key(2) in keys((1, 2))
    assert key(True) not in keys((1, 2))


@pytest.mark.parametrize(
    ("value", "model", "expected"),
    [
        (1, 0.5, True),  # a whole number where a decimal stands
        (0.5, 1, False),
        (True, 1, False),
        (1, True, False),
        ("a", "b", True),
        ("a", 1, False),
        ((1, 2), (3,), True),
        ((1.5,), (3,), False),
        (1, (3,), False),
        ((3,), 1, False),
        ((), (1,), True),
    ],
)
def test_what_can_stand_for_what(value: object, model: object, expected: bool) -> None:
    assert fits(value, model) == expected  # type: ignore[arg-type]


def test_values_are_shown_as_they_are_written() -> None:
    assert shown((True, 1, 0.5, "a")) == "[true, 1, 0.5, 'a']"
    assert [kind_of(v) for v in (True, 1, 0.5, "a", ())] == [
        "true or false", "a whole number", "a number", "text", "a list"]  # fmt: skip


def test_toy_text_is_what_was_loaded() -> None:
    assert AUDIT.paper.title in TEXT


# --- findings, alternatives -----------------------------------------------------------------------


def test_an_own_setting_may_be_named_with_its_experiment() -> None:
    """As `run --set` and multiverse name it; a shared one has no experiment."""
    (finding,) = AUDIT.findings
    effect = finding.effects[0].model_copy(update={"setting": "training.batch"})
    changes = {"settings": ("learning_rate", "training.batch"), "effects": (effect,)}
    named = finding.model_copy(update=changes)
    assert broken(AUDIT.model_copy(update={"findings": (named,)})) == []
    wrong = finding.model_copy(update={"settings": ("learning_rate", "training.steps")})
    assert broken(AUDIT.model_copy(update={"findings": (wrong,)})) == ["RA162"]


@pytest.mark.parametrize(
    ("alternative", "ids"),
    [((1, 2), []), ((2, 1, 9), []), ((2, 3), ["RA146"]), ((3,), ["RA146", "RA146"])],
)
def test_alternatives_keep_the_coordinates_that_claims_read(
    alternative: tuple[int, ...], ids: list[str]
) -> None:
    """Claims read the layers 1 and 2: by a fixed coordinate, and by `among`."""
    layers = AUDIT.settings["layers"].model_copy(
        update={"source": Source.ASSUMPTION, "why": "-", "alternatives": (alternative,)}
    )
    settings = {**AUDIT.settings, "layers": layers}
    assert broken(AUDIT.model_copy(update={"settings": settings})) == ids
