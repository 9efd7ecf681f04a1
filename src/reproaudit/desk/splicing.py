"""Edits of a YAML text at the marks of its nodes: everything else stays byte for byte.

An edit works out what the whole file must hold afterwards, splices the few characters that have to
change, and reads the result. Unless that holds exactly what it must, nothing is returned.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import yaml

from reproaudit.audit.loading.scalars import read_plain
from reproaudit.audit.rules import Loc
from reproaudit.desk.yaml_text import field_lines, in_brackets, item_lines, scalar
from reproaudit.errors import AuditError

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class EditError(AuditError):
    """An edit that cannot be made without touching more than it should."""


@dataclass(frozen=True)
class YamlText:
    """The text of a YAML file without anchors, aliases and tags, and the edits that it takes.

    Every edit returns a new text.

    Attributes:
        text: the text.
    """

    text: str

    @cached_property
    def data(self) -> Any:
        """The file as plain data: mappings, lists, texts, numbers; dates are texts."""
        return _data(self._root)

    def at(self, loc: Loc) -> Any:
        """The plain data at a place; None if there is nothing."""
        found = self.data
        for step in loc:
            try:
                found = found[step]
            except (KeyError, IndexError, TypeError):
                return None
        return found

    def put(self, loc: Loc, value: object, before: Iterable[str] = ()) -> YamlText:
        """The text with another value at a place; a field that is missing is added.

        Args:
            loc: the place.
            value: the value.
            before: the fields that stand in front of a new one.

        Raises:
            EditError: if the edit would touch more than the value.
        """
        *above, last = loc
        if _same(self.at(loc), _as_read(value)):
            return self
        if self._node(loc) is None:
            text = self._with_field(tuple(above), str(last), value, tuple(before))
        else:
            text = self._with_value(loc, value)
        return self._checked(text, loc, lambda holder: _put(holder, last, _as_read(value)))

    def append(self, loc: Loc, item: object, before: Iterable[str] = ()) -> YamlText:
        """The text with one more item at the end of a list, which is made if it is missing.

        Raises:
            EditError: if the edit would touch more than the list.
        """
        node = self._node(loc)
        if node is None or not node.value:
            return self.put(loc, [item], before)
        end = self._end(node.value[-1])
        if node.flow_style:
            first = node.value[0].start_mark
            text = self._spliced(end, end, ", " + in_brackets(item, first.column, first.column))
        else:
            dash = node.start_mark.column
            at_dash = node.value[0].start_mark.line == node.start_mark.line
            offset = node.value[0].start_mark.column - dash if at_dash else 2
            text = self._with_lines(end, dash, item_lines(item, dash, offset))
        return self._checked(text, (*loc, -1), lambda holder: holder.append(_as_read(item)))

    def remove(self, loc: Loc) -> YamlText:
        """The text without an item of a list; without the list's field if it was the only one.

        Raises:
            EditError: if the item shares its lines with something else.
        """
        *above, index = loc
        holder = self._node(tuple(above))
        if holder is None or self._node(loc) is None or not isinstance(index, int):
            raise EditError("there is no such entry")
        if len(holder.value) == 1:
            return self.without(tuple(above))
        item, end = holder.value[index], self._end(holder.value[index])
        if holder.flow_style and len(holder.value) > 1:
            others = holder.value
            start, end = (
                (item.start_mark.index, others[1].start_mark.index)
                if index == 0
                else (self._end(others[index - 1]), end)
            )
        else:
            start, end = self._line_start(item.start_mark.index), self._line_end(end)
            if self.text[start : item.start_mark.index].strip() != "-":
                raise EditError("the entry shares its line with something else")
        text = self._spliced(start, end, "")
        return self._checked(text, loc, lambda entries: entries.pop(index))

    def without(self, loc: Loc) -> YamlText:
        """The text without a field.

        Raises:
            EditError: if the field shares its lines with something else.
        """
        key = self._key(loc)
        if key is None:
            raise EditError("there is no such field")
        at = key.start_mark.index
        start, end = self._line_start(at), self._line_end(self._end_at(loc))
        if self._node(loc[:-1]).flow_style or self.text[start:at].strip():
            raise EditError(f"'{loc[-1]}' shares its line with something else")
        gap = re.search(r"(\r?\n)\r?\n\Z", self.text[:start])  # its own blank line goes as well
        if gap and len(loc) == 1:
            start = gap.end(1)
        text = self._spliced(start, end, "")
        return self._checked(text, loc, lambda holder: holder.pop(loc[-1]))

    # --- the three ways to splice -----------------------------------------------------------------

    def _with_value(self, loc: Loc, value: object) -> str:
        node = self._node(loc)
        start, end = node.start_mark, self._end(node)
        is_scalar = isinstance(node, yaml.ScalarNode)
        if isinstance(value, Mapping | list | tuple) and not (is_scalar or node.flow_style):
            raise EditError("a list or mapping of several lines is edited by hand")
        if not is_scalar and "#" in self.text[start.index : end]:
            raise EditError("a list or mapping with comments in it is edited by hand")
        holder, key = self._node(loc[:-1]), self._key(loc)
        margin = len(self._line_of(start.index)) - len(self._line_of(start.index).lstrip())
        indent = (key.start_mark.column if key is not None else margin) + 2
        if holder.flow_style:
            return self._spliced(start.index, end, in_brackets(value, start.column, margin + 2))
        if key is not None and key.start_mark.line == start.line:  # it may need another form
            _, _, written = field_text(str(loc[-1]), value, key.start_mark.column).partition(":")
            return self._spliced(self._end(key) + 1, end, written)
        if isinstance(value, Mapping | list | tuple):
            return self._spliced(start.index, end, in_brackets(value, start.column, indent))
        return self._spliced(start.index, end, scalar(value, start.column, indent))

    def _with_field(self, above: Loc, name: str, value: object, before: Sequence[str]) -> str:
        holder = self._node(above)
        if not isinstance(holder, yaml.MappingNode) or not holder.value:
            raise EditError(f"there is no place for '{name}'")
        fields = [key.value for key, _ in holder.value]
        ahead = [i for i, field in enumerate(fields) if field in before]
        key, node = holder.value[ahead[-1] if ahead else -1]
        end = max(self._end(key) + 1, self._end(node))
        if holder.flow_style:
            return self._spliced(end, end, f", {name}: {in_brackets(value, 0, 0)}")
        column = key.start_mark.column
        lines = field_lines(name, value, column)
        lines[0] = " " * column + lines[0]
        gap = not above and self._has_gaps()
        return self._with_lines(end, column, ["", *lines] if gap else lines)

    def _with_lines(self, end: int, column: int, lines: Sequence[str]) -> str:
        """The text with lines after the line of a position, and after the comments that go on."""
        end = self._line_end(end)
        comment = re.compile(rf"[ \t]{{{column + 1},}}#[^\n]*(\n|\Z)")
        while match := comment.match(self.text, end):
            end = match.end()
        block = self._newline.join(lines)
        if self.text[:end].endswith("\n"):
            return self._spliced(end, end, block + self._newline, broken=True)
        return self._spliced(end, end, self._newline + block, broken=True)

    def _spliced(self, start: int, end: int, new: str, *, broken: bool = False) -> str:
        new = new if broken else new.replace("\n", self._newline)
        return self.text[:start] + new + self.text[end:]

    def _checked(self, text: str, loc: Loc, edit: Callable[[Any], object]) -> YamlText:
        """The new text, if it holds what the old one held with the edit, and nothing else."""
        expected = copy.deepcopy(self.data)
        holder = expected
        for step in loc[:-1]:
            holder = holder[step]
        edit(holder)
        edited = YamlText(text)
        try:
            found = edited.data
        except (yaml.YAMLError, ValueError) as error:
            raise EditError("this text cannot be written there; edit the file by hand") from error
        if not _same(found, expected):
            raise EditError("this edit would change something else; edit the file by hand")
        return edited

    # --- nodes and places -------------------------------------------------------------------------

    @cached_property
    def _root(self) -> Any:
        return yaml.compose(self.text, _LOADER)

    @cached_property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _node(self, loc: Loc) -> Any:
        node = self._root
        for step in loc:
            if isinstance(node, yaml.MappingNode):
                node = next((value for key, value in node.value if key.value == step), None)
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                node = node.value[step] if step < len(node.value) else None
            else:
                return None
        return node

    def _key(self, loc: Loc) -> Any:
        """The node of a field's name; None for an item of a list."""
        holder = self._node(loc[:-1])
        if not isinstance(holder, yaml.MappingNode):
            return None
        return next((key for key, _ in holder.value if key.value == loc[-1]), None)

    def _end_at(self, loc: Loc) -> int:
        return max(self._end(self._key(loc)) + 1, self._end(self._node(loc)))

    def _end(self, node: Any) -> int:
        """The place of a node's last character; a parser's own mark may lie lines below."""
        if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
            start: int = node.start_mark.index
            return start + len(self.text[start : node.end_mark.index].rstrip())
        last = node.value[-1]
        if isinstance(node, yaml.MappingNode):
            return max(self._end(last[0]) + 1, self._end(last[1]))
        return self._end(last)

    def _line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1

    def _line_end(self, index: int) -> int:
        """The start of the next line, or the end of the text."""
        end = self.text.find("\n", index)
        return len(self.text) if end < 0 else end + 1

    def _line_of(self, index: int) -> str:
        return self.text[self._line_start(index) : self._line_end(index)]

    def _has_gaps(self) -> bool:
        """True if blank lines separate the fields at the top."""
        keys = [key.start_mark.index for key, _ in self._root.value[1:]]
        return any(re.search(r"\n\r?\n(#.*\n)*\Z", self.text[:index]) for index in keys)


def field_text(name: str, value: object, column: int) -> str:
    """A field as YAML; its further lines are indented."""
    return "\n".join(field_lines(name, value, column))


def _put(holder: Any, step: str | int, value: object) -> None:
    holder[step] = value


def _data(node: Any) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {key.value: _data(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_data(one) for one in node.value]
    return node.value if node.style else read_plain(node.value)[0]


def _as_read(value: object) -> Any:
    """A value as `YamlText.data` has it."""
    if isinstance(value, Mapping):
        return {name: _as_read(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_as_read(one) for one in value]
    return value.isoformat() if isinstance(value, date) else value


def _same(a: Any, b: Any) -> bool:
    """True if two data are equal in value and type; true is not 1."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and bool(a == b)
