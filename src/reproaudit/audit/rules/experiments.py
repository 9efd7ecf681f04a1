"""Rules of the measurements that experiments declare, and of the figures that show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reproaudit.audit.model import Audit, Figure, RunCounts
from reproaudit.audit.rules.names import known_settings, not_of, unknown, unknown_experiment
from reproaudit.audit.rules.rule import Loc, Violation, error, warning
from reproaudit.audit.rules.values import repeated, shown
from reproaudit.declarations import Axis, Coordinate, Declaration, MeasurementKind


def _declarations(audit: Audit) -> Iterator[tuple[Loc, str, Declaration]]:
    """Every declaration with its place, shared ones once."""
    for name, declaration in audit.measurements.items():
        yield ("measurements", name), name, declaration
    for experiment, one in audit.experiments.items():
        for name, declaration in one.measurements.items():
            yield ("experiments", experiment, "measurements", name), name, declaration


def _axes(audit: Audit) -> Iterator[tuple[Loc, Axis]]:
    for loc, _, declaration in _declarations(audit):
        for i, axis in enumerate(declaration.axes):
            yield (*loc, "axes", i), axis


def _following(audit: Audit) -> Iterator[tuple[Loc, str, Axis]]:
    """Every axis that follows a setting, with each experiment that measures along it."""
    for loc, axis in _axes(audit):
        if axis.setting is not None and loc[0] == "experiments":
            yield (*loc, "setting"), str(loc[1]), axis
        elif axis.setting is not None:
            for experiment, one in audit.experiments.items():
                taken = one.chosen is None or loc[1] in one.chosen
                if taken and loc[1] not in one.measurements:
                    yield (*loc, "setting"), experiment, axis


# --- axes ---------------------------------------------------------------------------------------


@error(
    "RA121",
    "The coordinates of an axis come from one place.",
    "Give one of values, setting and size.",
)
def _axis_has_one_source(audit: Audit) -> Iterator[Violation]:
    for loc, axis in _axes(audit):
        given = [f for f in ("values", "setting", "size") if getattr(axis, f) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "neither values nor setting nor size"
            yield Violation(loc, f"found {found} on axis '{axis.name}'; expected exactly one")


@error(
    "RA122",
    "An axis that follows a setting takes its coordinates from that list.",
    "Name a setting whose value is a list.",
)
def _axis_setting_is_a_list(audit: Audit) -> Iterator[Violation]:
    for loc, experiment, axis in _following(audit):
        name = str(axis.setting)
        setting = audit.setting_of(experiment, name)
        if setting is None:
            known = known_settings(audit, experiment)
            yield Violation(loc, not_of("setting", name, experiment), about=name, known=known)
        elif not isinstance(setting.value, tuple):
            found = f"found setting '{name}', which is {shown(setting.value)}"
            yield Violation(loc, f"{found}; expected a list of coordinates")


@error(
    "RA123",
    "Axes of one name or equal coordinates cannot be told apart.",
    "Rename or remove one of them.",
)
def _axes_are_distinct(audit: Audit) -> Iterator[Violation]:
    for loc, _, declaration in _declarations(audit):
        names = [axis.name for axis in declaration.axes]
        for i in repeated(names):
            message = f"found a second axis '{names[i]}'; expected different names"
            yield Violation((*loc, "axes", i, "name"), message)
    for loc, axis in _axes(audit):
        for i in _read_alike(axis.values or ()):
            message = f"found the coordinate {shown((axis.values or ())[i])} again"
            yield Violation((*loc, "values", i), f"{message}; expected different ones")
    for loc, experiment, axis in _following(audit):
        setting = audit.setting_of(experiment, str(axis.setting))
        listed = setting.value if setting is not None else ()
        if isinstance(listed, tuple) and (again := _read_alike(listed)):
            message = f"found setting '{axis.setting}', which has {shown(listed[again[0]])} again"
            yield Violation(loc, f"{message}; expected different coordinates")


def _read_alike(coordinates: Sequence[Coordinate]) -> list[int]:
    """The positions of coordinates that equal an earlier one, or are written as it is."""
    return sorted({*repeated(coordinates), *repeated([str(one) for one in coordinates])})


@error("RA124", "A scalar is one number; an array has axes.", "Change the kind or the axes.")
def _axes_fit_kind(audit: Audit) -> Iterator[Violation]:
    for loc, name, declaration in _declarations(audit):
        axes = len(declaration.axes)
        if declaration.kind is MeasurementKind.SCALAR and axes:
            message = f"found {axes} axes on the scalar '{name}'; expected none"
            remedy = "Remove the axes, or make it an array."
            yield Violation((*loc, "axes"), message, remedy)
        if declaration.kind is MeasurementKind.ARRAY and not axes:
            message = f"found the array '{name}' without axes; expected at least one"
            yield Violation(loc, message, "Name its axes, or make it a scalar.")


@error(
    "RA194",
    "A range has a least value below its largest.",
    "Write the smaller value first, or null for an open end.",
)
def _ranges_are_ranges(audit: Audit) -> Iterator[Violation]:
    for loc, _, declaration in _declarations(audit):
        low, high = declaration.range or (None, None)
        if low is not None and high is not None and low >= high:
            yield Violation((*loc, "range"), f"found [{low:g}, {high:g}]; expected a range")


# --- experiments --------------------------------------------------------------------------------


@error(
    "RA130",
    "An experiment names under 'measures' which of the shared measurements it makes.",
    "Name a measurement that stands under the audit's own 'measurements'.",
)
def _measures_exist(audit: Audit) -> Iterator[Violation]:
    for experiment, one in audit.experiments.items():
        loc, names = ("experiments", experiment, "measures"), one.measures or ()
        yield from unknown(loc, "measurement", names, audit.measurements)
        for i in repeated(names):
            message = f"found '{names[i]}' a second time; expected different measurements"
            yield Violation((*loc, i), message, "Remove one of the two.")


@error(
    "RA131",
    "An experiment that measures nothing shows nothing.",
    "Declare a measurement, or name shared ones under 'measures'.",
)
def _something_is_measured(audit: Audit) -> Iterator[Violation]:
    for experiment, one in audit.experiments.items():
        shared = audit.measurements if one.measures is None else one.measures
        if not one.measurements and not shared:
            message = f"found no measurement of '{experiment}'; expected at least one"
            yield Violation(("experiments", experiment), message)


@error(
    "RA132",
    "A stage of training lasts as many steps as a setting says.",
    "Name a setting of the experiment: a whole number, or a list with one for each stage.",
)
def _stage_has_a_length(audit: Audit) -> Iterator[Violation]:
    for experiment, spec in audit.experiments.items():
        for i, stage in enumerate(spec.stages):
            place: Loc = ("experiments", experiment, "stages", i, "steps")
            setting, wanted = audit.setting_of(experiment, stage.steps), len(spec.stages)
            if setting is None:
                known = known_settings(audit, experiment)
                message = not_of("setting", stage.steps, experiment)
                yield Violation(place, message, about=stage.steps, known=known)
                continue
            value = setting.value
            steps = value if isinstance(value, tuple) else (value,) * wanted
            if len(steps) != wanted or not all(type(one) is int for one in steps):
                found = f"found setting '{stage.steps}', which is {shown(value)}"
                expected = f"expected a whole number of steps, or a list of {wanted}"
                yield Violation(place, f"{found}; {expected}")


@error(
    "RA220",
    "How far a run trained is read from a series.",
    "Name a series that the experiment measures.",
)
def _training_loss_is_a_series(audit: Audit) -> Iterator[Violation]:
    stated = [(("experiments", e), (e,), one.training_loss) for e, one in audit.experiments.items()]
    for loc, experiments, name in [((), tuple(audit.experiments), audit.training_loss), *stated]:
        found = [audit.declaration(one, name) for one in experiments if name is not None]
        kinds = {one.kind for one in found if one is not None}
        if found and kinds != {MeasurementKind.SERIES}:
            known = [one for e in experiments for one in audit.measurements_of(e)]
            what = f"the {next(iter(kinds))} " if kinds else "the unknown measurement "
            message, about = f"found {what}'{name}'; expected a series", None if kinds else name
            yield Violation((*loc, "training_loss"), message, about=about, known=known)


FEWEST_RUNS = 5
"""The fewest valid runs by which a claim is decided."""


@warning("RA221", "Fewer than five valid runs decide nothing.", "Ask for five runs or more.")
def _enough_runs(audit: Audit) -> Iterator[Violation]:
    judged = {one.experiment for one in audit.claims if not one.exact}
    stated: dict[Loc, RunCounts | None] = {("runs",): audit.runs if judged else None}
    for name in judged & audit.experiments.keys():
        stated["experiments", name, "runs"] = audit.experiments[name].runs
    for loc, runs in stated.items():
        for field in ("quick", "paper", "arms") if runs is not None else ():
            if (number := getattr(runs, field)) < FEWEST_RUNS:
                message = f"found {number}; expected at least {FEWEST_RUNS}"
                yield Violation((*loc, field), message)


# --- figures ------------------------------------------------------------------------------------


@error("RA125", "Figures of one id would overwrite each other.", "Rename one of them.")
def _figure_ids_unique(audit: Audit) -> Iterator[Violation]:
    ids = [figure.id for figure in audit.figures]
    for i in repeated(ids):
        yield Violation(("figures", i, "id"), f"found a second figure '{ids[i]}'")


@error(
    "RA126",
    "A figure shows measurements of an experiment of this audit.",
    "Name a declared experiment.",
)
def _figure_experiment_exists(audit: Audit) -> Iterator[Violation]:
    for i, figure in enumerate(audit.figures):
        yield from unknown_experiment(audit, ("figures", i), figure.experiment)


def _drawn(audit: Audit) -> Iterator[tuple[Loc, Figure, str, Declaration | None]]:
    for i, figure in enumerate(audit.figures):
        for j, name in enumerate(figure.measurements):
            if figure.experiment in audit.experiments:
                declaration = audit.declaration(figure.experiment, name)
                yield ("figures", i, "measurements", j), figure, name, declaration


@error(
    "RA127",
    "A figure shows measurements that its experiment makes.",
    "Name a declared measurement.",
)
def _figure_measurement_exists(audit: Audit) -> Iterator[Violation]:
    for loc, figure, name, declaration in _drawn(audit):
        if declaration is None:
            known = audit.measurements_of(figure.experiment)
            message = not_of("measurement", name, figure.experiment)
            yield Violation(loc, message, about=name, known=known)


@error(
    "RA128",
    "Each kind of figure draws one shape of measurement.",
    "Choose another kind of figure or another measurement.",
)
def _figure_fits_kind(audit: Audit) -> Iterator[Violation]:
    for loc, figure, name, declaration in _drawn(audit):
        if declaration is None:
            continue
        axes = [axis.name for axis in declaration.axes]
        array = declaration.kind is MeasurementKind.ARRAY
        fits, expected = {
            "curves": (declaration.kind is MeasurementKind.SERIES, "a series"),
            "matrices": (
                array and len(axes) in (2, 3),
                "an array with rows, columns and at most one axis before them",
            ),
            "comparison": (array, "an array along an axis"),
        }[figure.kind]
        if not fits:
            found = f"found the {declaration.kind} '{name}' with {len(axes)} axes"
            yield Violation(loc, f"{found}; expected {expected}")
        elif figure.kind == "comparison" and figure.axis and figure.axis not in axes:
            message = f"found no axis '{figure.axis}' on '{name}'; expected the figure's axis"
            yield Violation(loc, message, about=figure.axis, known=axes)


@error(
    "RA129",
    "A comparison, and only a comparison, has a named horizontal axis.",
    "Name the axis, or remove it.",
)
def _comparison_has_axis(audit: Audit) -> Iterator[Violation]:
    for i, figure in enumerate(audit.figures):
        if figure.kind == "comparison" and figure.axis is None:
            yield Violation(("figures", i), "found a comparison without 'axis'; expected its name")
        if figure.kind != "comparison" and figure.axis is not None:
            message = f"found an axis on a figure of kind '{figure.kind}'; expected none"
            yield Violation(("figures", i, "axis"), message, "Remove the axis.", at_key=True)
