"""An audit of schema 2, laid out in the short form.

What the short form derives is left out: the audit that is read from the text is equal to the one
that was given, but that questions of ours come after the claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from reproaudit.audit.layout import laid_out
from reproaudit.audit.model import (
    ArmSpec,
    Audit,
    Claim,
    NamedArm,
    Paper,
    Reading,
    Setting,
    Source,
    Statement,
    Variable,
)
from reproaudit.audit.short.conditions import OF_ARM
from reproaudit.audit.short.fields import ANSWER, NOT_AUDITED, PASSAGE, READ, REPORTED, STAGE
from reproaudit.audit.short.settings import SMOKE_REASON, SOURCES
from reproaudit.cell import value_text
from reproaudit.declarations import Declaration, MeasurementKind, Quantity, StrictModel

Data = dict[str, Any]

_ORIGIN = {source: origin for origin, source in SOURCES.items() if origin != "ours"}


def upgraded(audit: Audit) -> str:
    """Return an audit as the text of a file in the short form."""
    return laid_out(_kept(_Upgrade(audit).data()))


def in_order(audit: Audit) -> Audit:
    """Return an audit with the questions of ours after the claims, as the short form has them."""
    claims = tuple(sorted(audit.claims, key=lambda claim: claim.ours))
    return audit.model_copy(update={"claims": claims})


def _kept(data: Any) -> Any:
    """Return plain data without what is empty or None."""
    if isinstance(data, dict):
        below = {key: _kept(value) for key, value in data.items()}
        return {key: value for key, value in below.items() if value is not None and value != {}}
    return [_kept(value) for value in data] if isinstance(data, list) else data


class _Upgrade:
    """One audit on its way into the short form."""

    def __init__(self, audit: Audit) -> None:
        self.audit = audit
        self.slug = f"{audit.paper.slug}."
        days = Counter(one.card.as_of for one in audit.variables if one.card is not None)
        self.card_read = days.most_common(1)[0][0] if days else None

    def data(self) -> Data:
        """Return the audit's data in the short form."""
        audit = self.audit
        claims = {claim.id.removeprefix(self.slug): claim for claim in audit.claims}
        listed = {name: self._claim(claim) for name, claim in claims.items()}
        return {
            "schema_version": 3,
            "paper": _paper(audit.paper),
            "about": audit.about,
            "runs": _stated(audit.runs) or None,
            "method": audit.method,
            "files": audit.files,
            "card_read": self.card_read,
            "variables": {one.name.value: self._variable(one) for one in audit.variables},
            "settings": _groups(audit.settings) or None,
            **_tiers(audit.settings),
            "measurements": {n: _measurement(d) for n, d in audit.measurements.items()},
            "training_loss": audit.training_loss,
            "length": audit.length,
            "experiments": {name: self._experiment(name) for name in audit.experiments},
            "arms": {name: _arm(arm) for name, arm in audit.arms.items()},
            "claims": {name: listed[name] for name, claim in claims.items() if not claim.ours},
            "our_questions": {name: listed[name] for name, claim in claims.items() if claim.ours},
            "not_audited": [_named(one, NOT_AUDITED) for one in audit.not_audited] or None,
            "findings": {
                finding.id.removeprefix(self.slug): {
                    "kind": finding.kind,
                    "as_of": None if finding.as_of == self.card_read else finding.as_of,
                    "settings": list(finding.settings) or None,
                    "changes": [one.removeprefix(self.slug) for one in finding.changes] or None,
                    "says": finding.statement,
                    "from": _one_or_all(finding.sources),
                }
                for finding in audit.findings
            },
        }

    def _variable(self, variable: Variable) -> Data:
        first, *more = variable.evidence
        card = variable.card
        own = card is not None and first.locator == f"card, row {variable.name.value}"
        return {
            "card": card.result if card is not None else None,
            "card_read": card.as_of if card and card.as_of != self.card_read else None,
            "says": first.statement,
            "at": None if own else first.locator,
            "also": [_named(one, PASSAGE) for one in more] or None,
            "checklist": [_named(one, ANSWER) for one in variable.authors] or None,
        }

    def _experiment(self, name: str) -> Data:
        one = self.audit.experiments[name]
        return {
            "title": one.title,
            "runs": _stated(one.runs) if one.runs is not None else None,
            "measures": list(one.measures) if one.measures is not None else None,
            "training_loss": one.training_loss,
            "length": one.length,
            "settings": _groups(one.settings) or None,
            **_tiers(one.settings),
            "measurements": {n: _measurement(d) for n, d in one.measurements.items()},
            "stages": {stage.name: _named(stage, STAGE, "name") for stage in one.stages},
        }

    def _claim(self, claim: Claim) -> Data:
        own_arms = {arm.name: arm for _, arm in claim.arms() if isinstance(arm, NamedArm)}
        misses = claim.elsewhere
        usual = "derived" if claim.whose == "derived" else "from_source"
        return {
            "says": claim.says,
            "short": None if claim.short == claim.says.removesuffix(".") else claim.short,
            "at": claim.locator,
            "main": claim.main or None,
            "whose": claim.whose if claim.whose != "paper" else None,
            "wording": claim.wording if claim.wording != usual else None,
            "experiment": claim.experiment if len(self.audit.experiments) > 1 else None,
            "settings": _plain(claim.settings) or None,
            "must_fail": list(map(_name, claim.nulls)) or None,
            "no_control": claim.no_control,
            "must_pass": _name(claim.constructed) if claim.constructed is not None else None,
            "without_part": _parts(claim),
            "readings": self._readings(claim),
            "together": _one_or_all([*map(list, claim.together)]) or None,
            "grade": _grade(claim),
            "share_of_runs": claim.share if claim.share != 0.5 else None,
            "exact": claim.exact or None,
            "unlike_lengths": claim.unlike_lengths,
            "holds_if": list(map(_check, claim.headline)),
            "also_said": list(map(_check, claim.support)) or None,
            "also_report": list(map(_check, claim.notes)) or None,
            "reported": [_named(one, REPORTED) for one in claim.reported] or None,
            "misses": {"says": misses.says, "cost": _quantity(misses.measure)} if misses else None,
            "arms": {name: _arm(arm) for name, arm in own_arms.items()},
        }

    def _readings(self, claim: Claim) -> list[str] | None:
        """Return the readings of a claim, if they are others than all of its experiment."""
        settings = self.audit.settings_of(claim.experiment)
        every = [
            name
            for name, one in sorted(settings.items())
            if name not in claim.settings and any(r.excused is None for r in one.readings)
        ]
        return None if list(claim.readings) == every else list(claim.readings)


def _paper(paper: Paper) -> Data:
    data = _stated(paper, "read", "not_read")
    read: Data = {}
    others: dict[str, list[str]] = {"others": [], "not_others": []}
    for texts, place, listed in ((paper.read, 0, "others"), (paper.not_read, 1, "not_others")):
        for text in texts:
            key = next((key for key, words in READ.items() if words[place] == text), None)
            if key is not None and key not in read:
                read[key] = place == 0
            else:
                others[listed].append(text)
    return {**data, "read": {**read, **{key: value for key, value in others.items() if value}}}


def _groups(settings: Mapping[str, Setting]) -> list[Data]:
    """Return settings in groups: by source and place where nothing else is said of them."""
    by_place: dict[tuple[Any, ...], list[str]] = {}
    for name, one in settings.items():
        stated = not (one.readings or one.guessed or one.words or one.phrases or one.ask)
        same = (one.side, one.ours, one.locator, one.also_at) if stated else (name,)
        by_place.setdefault(same, []).append(name)
    return [_group(names, settings) for names in by_place.values()]


def _group(names: Sequence[str], settings: Mapping[str, Setting]) -> Data:
    """Return the group of settings that have the same source and place."""
    one = settings[names[0]]
    ours = one.ours and one.source in (Source.DERIVED, Source.ASSUMPTION)
    by_why = ours and one.source is Source.DERIVED and one.why is None
    return {
        "from": "ours" if ours else _ORIGIN[one.source.value],
        "who": one.who,
        "at": None if by_why else one.locator,
        "values": {name: _plain(settings[name].value) for name in names},
        "also_stated": _also_stated(names[0], one),
        "words": one.words,
        "phrases": one.phrases or None,
        "could_be": [_other(names, one, value) for value in one.alternatives] or None,
        "why": one.locator if by_why else one.why,
        "no_other": one.only_reading,
        "ask": one.ask,
    }


def _also_stated(name: str, setting: Setting) -> list[Data] | None:
    """Return which other sources state a setting, with its value or another one."""
    readings = (_reading(name, reading) for reading in setting.readings)
    return [*map(_place, setting.also_at), *readings] or None


def _place(one: Statement | Reading) -> Data:
    """Return which source states a value, and where."""
    return {"from": _ORIGIN[one.source.value], "who": one.who, "at": one.locator}


def _reading(name: str, reading: Reading) -> Data:
    ours = {"from": "ours"} if reading.ours and reading.source is Source.DERIVED else {}
    return {
        **_place(reading),
        **ours,
        "values": _plain({name: reading.value, **reading.together}),
        "also_stated": list(map(_place, reading.also_at)) or None,
        "quick": {"values": _plain(reading.quick)} if reading.quick else None,
        "words": reading.words,
        "cannot_matter": reading.excused,
    }


def _other(names: Sequence[str], setting: Setting, value: Any) -> Any:
    """Return another value of a guess, alone where nothing is said of it."""
    unlikely = setting.unlikely.get(value_text(value))
    if unlikely is None and len(names) == 1:
        return _plain(value)
    return {"values": {names[0]: _plain(value)}, "unlikely": unlikely}


def _tiers(settings: Mapping[str, Setting]) -> Data:
    """Return the blocks of both tiers, each value with its reason."""
    blocks = {tier: _block(settings, tier) for tier in ("quick", "smoke")}
    return {tier: block for tier, block in blocks.items() if block["values"]}


def _block(settings: Mapping[str, Setting], tier: str) -> Data:
    """Return the values of a tier, with one reason for all of them or with one for each."""
    scaled = {name: one for name, s in settings.items() if (one := getattr(s, tier)) is not None}
    reasons = {
        name: one.reason
        for name, one in scaled.items()
        if tier == "quick" or one.reason != SMOKE_REASON
    }
    shared = len(reasons) == len(scaled) and len(set(reasons.values())) == 1
    return {
        "values": {name: _plain(one.value) for name, one in scaled.items()},
        "why": next(iter(reasons.values())) if shared else reasons,
    }


def _measurement(declared: Declaration) -> Data:
    over_training = declared.kind is MeasurementKind.SERIES
    return {
        "every_step" if over_training else "once": list(map(_stated, declared.axes)),
        "unit": declared.unit if declared.unit != "1" else None,
        "range": list(map(_whole, declared.range)) if declared.range is not None else None,
        "noun": declared.noun,
        "step": declared.step,
        "says": declared.meaning,
    }


def _arm(arm: ArmSpec) -> Data:
    starts = [_ordered(_check_part(bound)) for bound in arm.holds_at_start]
    data = _stated(arm, "name", "why", "holds_at_start", "words")
    says = None if arm.why == arm.words else arm.why
    return {**data, "says": says, "words": arm.words, "holds_at_start": starts or None}


def _name(arm: NamedArm | str) -> str:
    return arm if isinstance(arm, str) else arm.name


def _grade(claim: Claim) -> Data | None:
    if claim.grade is None:
        return None
    data = _stated(claim.grade, "primary")
    if claim.grade.primary != claim.grade.easiest_first:
        data["decisive"] = list(claim.grade.primary)
    return data


def _parts(claim: Claim) -> Data | None:
    parts: dict[str, list[str]] = {}
    for ablation in claim.ablations:
        parts.setdefault(ablation.lacks, []).append(_name(ablation.arm))
    return {part: _one_or_all(arms) for part, arms in parts.items()} or None


LAST = ("where", "at_most", "at_least", "below", "above", "from", "why", "stands_for")
"""The fields that stand last in a check, in this order."""


def _check(check: StrictModel) -> Data:
    """Return a check in the short form, its kind first and its source last."""
    data = _check_part(check)
    if "within" in data and data.pop("relative", None):
        margin = data["within"]
        sourced = margin if isinstance(margin, dict) else {"absolute": margin}
        data["within"] = {"relative": sourced.pop("absolute"), **sourced}
    origin = getattr(check, "origin", None)
    if "from" not in data and origin is not None and not isinstance(data.get("exponent"), dict):
        data["from"] = origin.value
    return _ordered(data)


def _ordered(data: Data) -> Data:
    """Return a check, or what holds at a start, with its kind first and its source last."""
    first = [key for key in ("kind",) if key in data]
    middle = [key for key in data if key not in (*LAST, *first)]
    return {key: data[key] for key in (*first, *middle, *(k for k in LAST if k in data))}


def _check_part(part: StrictModel) -> Data:
    data: Data = {}
    for name, field in type(part).model_fields.items():
        value = getattr(part, name)
        if not field.is_required() and value == field.get_default(call_default_factory=True):
            continue
        key = field.alias or name
        if name == "at":
            data["where"] = _plain(value)
        elif isinstance(value, Quantity):
            data[key] = _quantity(value)
        elif isinstance(value, StrictModel):
            inner = _check_part(value)
            ends = [k for k in ("from", "why") if k in inner]
            order = [*(k for k in inner if k not in ends), *ends]
            data[key] = {("absolute" if k == "is" else k): inner[k] for k in order}
        elif isinstance(value, tuple) and all(isinstance(one, Quantity) for one in value):
            data[key] = list(map(_quantity, value))
        else:
            data[key] = _as_fraction(_plain(value))
    return data


def _quantity(quantity: Quantity) -> Data | str:
    """Return a quantity as a text, where that says all of it."""
    inside = f"[{', '.join(map(str, quantity.coordinates))}]" if quantity.coordinates else ""
    text = f"{quantity.measurement}{inside}{'@first' if quantity.step == 'first' else ''}"
    if Quantity.model_validate(text) == quantity.model_copy(update={"arm": None}):
        return text if quantity.arm is None else f"{text}{OF_ARM}{quantity.arm}"
    data = _stated(quantity)
    return {("where" if key == "at" else key): value for key, value in data.items()}


def _as_fraction(value: Any) -> Any:
    """Return a number that is a fraction of small integers, and long otherwise, as one."""
    if not isinstance(value, float) or len(repr(value)) < 8:
        return value
    fraction = Fraction(value).limit_denominator(999)
    same = fraction.numerator / fraction.denominator == value
    return fraction if same and fraction.denominator > 1 else value


def _whole(end: float | None) -> float | None:
    return int(end) if end is not None and end.is_integer() else end


def _stated(model: StrictModel, *left_out: str) -> Data:
    """Return the plain data of a model without defaults and some of its fields."""
    data = model.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return {key: value for key, value in data.items() if key not in left_out}


def _named(model: StrictModel, fields: Mapping[str, str], *left_out: str) -> Data:
    """Return what a model states under the names of the short form."""
    names = {long: short for short, long in fields.items()}
    return {names.get(name, name): value for name, value in _stated(model, *left_out).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(below) for key, below in value.items()}
    return [_plain(below) for below in value] if isinstance(value, tuple) else value


def _one_or_all(entries: Sequence[Any]) -> Any:
    return entries[0] if len(entries) == 1 else list(entries)
