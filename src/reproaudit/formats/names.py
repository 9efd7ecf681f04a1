"""The names of an audit's settings, values, measurements and arms, as pages say them."""

from __future__ import annotations

from functools import partial

from reproaudit.audit.model import Audit, Setting
from reproaudit.cell import SettingValue, value_text
from reproaudit.checks import Kind, Names
from reproaudit.formats.numbers import at_words, listed, setting_value
from reproaudit.formats.verdict import Varied


def value_words(setting: Setting, value: SettingValue) -> str:
    """Return what a page calls a value of a setting: its phrase, or the value."""
    text = setting_value(value)
    phrases = {written.replace("_", " "): words for written, words in setting.phrases.items()}
    return phrases.get(text, setting.phrases.get(value_text(value), text))


class Namer:
    """Gives the names of an audit's settings, measurements and arms as pages say them."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        without = [each for claim in audit.claims for each in claim.ablations]
        self.ablations = {
            each.arm if isinstance(each.arm, str) else each.arm.name: f"without {each.lacks}"
            for each in without
        }

    def setting(self, experiment: str, name: str) -> str:
        """Return what a page calls a setting."""
        found = self._audit.settings_of(experiment).get(name)
        return found.words if found is not None and found.words else name.replace("_", " ")

    def varied(self, experiment: str, varied: Varied) -> str:
        """Return what a page calls a setting at a value, or several: pairs n = 10 and rate 0.1."""
        return listed([self._at_value(experiment, one) for one in varied.every])

    def _at_value(self, experiment: str, one: Varied) -> str:
        found = self._audit.settings_of(experiment).get(one.setting)
        text = setting_value(one.value)
        called = text if found is None else value_words(found, one.value)
        return called if called != text else f"{self.setting(experiment, one.setting)} {text}"

    def noun(self, experiment: str, name: str) -> str:
        """Return what a page calls a measurement."""
        found = self._audit.declaration(experiment, name)
        return found.noun if found is not None and found.noun else name.replace("_", " ")

    def compared(self, experiment: str, check: Kind, name: str) -> tuple[str, str]:
        """Return what a page calls a check's measurement, and what that is held against or ''."""
        return check.compared(name, self.of(experiment))

    def of(self, experiment: str) -> Names:
        """Return what a check needs to name the quantities that it reads."""
        return Names(
            partial(self.noun, experiment), self.arm, at_words, partial(self.step, experiment)
        )

    def step(self, experiment: str, name: str) -> str:
        """Return what a series counts, as a page says it: step, generation."""
        found = self._audit.declaration(experiment, name)
        return found.step if found is not None and found.step else "step"

    def arm(self, name: str) -> str:
        """Return what a page calls an arm."""
        found = self._audit.arms.get(name)
        if found is not None and found.words:
            return found.words
        return self.ablations.get(name, name.replace("_", " "))
