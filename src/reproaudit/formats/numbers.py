"""Measured numbers as a reader wants them: few digits, and never a false tie with the bound."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reproaudit.cell import SettingValue

MOST_DIGITS = 8

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = 2) -> str:
    """Return a number to so many significant digits; whole hundreds stay whole.

    Thousands have commas; very large and very small numbers a power of ten.
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "none"
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = math.floor(math.log10(abs(rounded)))
    if not -4 <= exponent < 7:
        return with_power(f"{value:.{digits - 1}e}")
    if exponent == 2 and digits < 3:
        return f"{value:.0f}"
    if exponent >= digits - 1:
        return f"{rounded:,.0f}"
    return f"{value:.{digits - 1 - exponent}f}"


def stated(value: float) -> str:
    """Return a number of the audit as it was written."""
    if value == round(value) and abs(value) < 1e7:
        return f"{value:,.0f}"
    return with_power(f"{value:.6g}")


def with_power(written: str) -> str:
    """Return a number as Python writes it with a raised power of ten: 1e-09 is 10⁻⁹."""
    mantissa, _, power = written.partition("e")
    raised = str(int(power or 0)).translate(_RAISED)
    ten = "10" if mantissa == "1" else f"{mantissa} × 10"
    return f"{ten}{raised}" if power else mantissa


def apart(value: float, other: float, least: int = 2) -> str:
    """Return a number with digits enough to differ from another, unless eight do not do."""
    for digits in range(least, MOST_DIGITS):
        if float(f"{value:.{digits - 1}e}") != float(f"{other:.{digits - 1}e}"):
            return number(value, digits)
    return number(value, least)


def percent(value: float) -> str:
    """Return a share as a percentage."""
    return f"{number(100 * value)} %"


def of(yes: int, n: int) -> str:
    """Return a count of runs: 13 of 15."""
    return f"{yes} of {n}"


def share_range(low: float, high: float) -> str:
    """Return the range of a share: 64–98 %."""
    return f"{100 * low:.0f}–{100 * high:.0f} %"


def setting_value(value: SettingValue) -> str:
    """Return a setting's value as a page says it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(setting_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return stated(value) if isinstance(value, int | float) else str(value).replace("_", " ")


def listed(words: Sequence[str], last: str = "and") -> str:
    """Return words as a list: a, b and c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def several(words: Sequence[str], most: int) -> str:
    """Return the first words of a list, and how many more there are: a, b and 3 more."""
    if len(words) <= most + 1:
        return listed(words)
    return f"{', '.join(words[:most])} and {len(words) - most} more"


def at_words(coordinate: int | float | str) -> str:
    """Return a coordinate as a page has it; a name in words."""
    return coordinate.replace("_", " ") if isinstance(coordinate, str) else stated(coordinate)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: 1 run, 5 runs."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def capital(text: str) -> str:
    """Return a text with a capital, unless it begins with a symbol such as α."""
    return text[:1].upper() + text[1:] if text[:1].isascii() else text


def documented_words(by_reviewers: int | None, card: int, of: int) -> str:
    """Return how many variables are documented, and by whose word."""
    if not of:
        return ""
    if by_reviewers is None:
        return f"{card} of {of} by the card alone"
    if by_reviewers != card:
        return f"{by_reviewers} of {of} by reviewers, {card} by the card"
    return f"{card} of {of} documented"


# --- who measured ---------------------------------------------------------------------------------

NOT_STATED = "not stated"
"""What a manifest says of who made measurements, and with what, where nobody said."""


def maker_words(who: str, source: str = NOT_STATED) -> str:
    """Return by whom measurements were made, and from where: measured by R. Reader (its logs).

    What nobody states is left out: measured elsewhere.
    """
    by = "measured elsewhere" if who == NOT_STATED else f"measured by {who}"
    return by if source == NOT_STATED else f"{by} ({source})"
