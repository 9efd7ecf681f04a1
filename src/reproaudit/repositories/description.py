"""The choices of a run file in words, for the pages of its paper."""

from __future__ import annotations

from pathlib import Path

from reproaudit.repositories.reading import load_run_file
from reproaudit.repositories.run_file import NOT_OF_THE_SOURCE


def told_of_experiment(path: Path, name: str) -> list[str]:
    """The choices that a run file makes for an experiment between its audit and its numbers.

    Raises:
        SpecError: listing every fault of the file.
    """
    run_file, _ = load_run_file(path)
    one = run_file.experiments.get(name)
    if one is None:
        return []
    place, source = run_file.environment, run_file.source
    python = f"Python {place.python}" if place.python else "Python"
    installed = place.requirements or place.lock or "nothing installed"
    where = place.image or f"{python} with {installed}"
    folder = "" if one.folder == "." else f", in its folder {one.folder}"
    told = []
    if not one.is_of(place):
        program = one.command[0]
        under = "path" if "/" in program else "name"
        told.append(
            f"{NOT_OF_THE_SOURCE} '{program}' of experiment '{name}': it is whatever this machine, "
            f"or a package, has under that {under}"
        )
    told += [
        f"Experiment '{name}' is measured by the command {' '.join(one.command)}, of the source "
        f"{source.pin}{folder}, in {where}, by what it writes to {', '.join(one.files)}",
        f"Its source is fetched from {source.git or source.archive}; no seal is of this address",
    ]
    if one.variables:
        said = ", ".join(f"{variable}={value}" for variable, value in one.variables.items())
        told.append(f"The command of '{name}' has the variables {said}")
    if one.fixed:
        said = ", ".join(f"{setting} = {value}" for setting, value in one.fixed.items())
        told.append(f"The command of '{name}' is not passed what is said to be its own: {said}")
    told += [
        f"Of '{name}', {setting} = {value} is passed as {'nothing' if text is None else text}"
        for setting, spelled in one.spelled.items()
        for value, text in spelled.items()
    ]
    for measured, quantity in one.mapping.items():
        meant = "".join(f", where {short} is '{tag}'" for short, tag in quantity.let.items())
        taken = quantity.expression or f"'{quantity.tag}'"
        told.append(f"Of '{name}', '{measured}' is taken from its logs as {taken}{meant}")
    if one.step is not None:
        told.append(f"Of '{name}', steps are counted by '{one.step}'")
    if one.complete is not None:
        said = one.complete.rstrip(".")
        told.append(f"Curves of '{name}' are said to be all that was logged: {said}")
    return told
