"""Parses untrusted YAML to plain values.

Values are built from the parser's events rather than by a YAML library's constructors, because a
job file needs other rules: the line of every key is kept, duplicate keys and tags are rejected,
aliases cannot explode, and words such as `no`, `010` or `1:30:00` stay as written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from danlu.spec.errors import NO_VALUE, Finding, Path, SpecError, file_error, spec_error
from danlu.spec.text import Text

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

DEEPEST = 16
MOST_NODES = 30_000
MOST_ALIASED = 1_000
"""How many nodes all aliases of a file together may repeat."""

LITERAL_KEYS = frozenset({"command", "args", "env", "secrets"})
"""Below these, scalars stay as written: `env: {LR: 1e-3}`, `command: [sleep, 010]`."""

_NULLS = ("", "~", "null", "Null", "NULL")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,17})?(e[+-][0-9]{2,3})?", re.ASCII)


@dataclass(slots=True)
class Document:
    value: Any
    lines: dict[Path, int] = field(default_factory=dict)
    line: int = 1


def load_yaml(
    text: str,
    read_scalar: Callable[[str], Any] | None = None,
    literal_keys: frozenset[str] = LITERAL_KEYS,
) -> list[Document]:
    """All documents of a text. Raises `SpecError`.

    Other languages have their own rules for plain scalars and for what stays as written.
    """
    builder = _Builder(text, read_scalar or scalar, literal_keys)
    try:
        documents = builder.documents()
    except yaml.YAMLError as error:
        raise _syntax_error(error, text) from None
    if builder.findings:
        raise spec_error(builder.findings, lambda path: builder.twice[path])
    return documents


def scalar(text: str) -> Any:
    """A plain scalar's value; only what would be written the same becomes a number."""
    if text in _NULLS:
        return None
    if text == "true":
        return True
    if text == "false":
        return False
    if _NUMBER.fullmatch(text):
        number: int | float = int(text) if text.lstrip("-").isdigit() else float(text)
        if math.isfinite(number) and str(number) == text:
            return number
    return text


class _Builder:
    def __init__(
        self, text: str, read_scalar: Callable[[str], Any], literal_keys: frozenset[str]
    ) -> None:
        self.read_scalar = read_scalar
        self.literal_keys = literal_keys
        self.events: Iterator[Any] = yaml.parse(text, Loader=_Loader)
        self.findings: list[Finding] = []
        self.twice: dict[Path, int] = {}
        self.nodes = 0
        self.aliased = 0
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.lines: dict[Path, int] = {}

    def documents(self) -> list[Document]:
        documents = []
        for event in self.events:
            if not isinstance(event, yaml.DocumentStartEvent):
                continue
            self.anchors, self.lines = {}, {}
            first = next(self.events)
            value = self.node(first, (), False)
            documents.append(Document(value, self.lines, first.start_mark.line + 1))
        return documents

    def node(self, event: Any, path: Path, literal: bool) -> Any:
        line = event.start_mark.line + 1
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise file_error(
                Text(
                    f"The file contains more than {MOST_NODES} values; split it",
                    f"文件含有超过 {MOST_NODES} 个值；请拆分",
                ),
                line,
            )
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event.anchor, line)
        _check_tag(event.tag, line)
        before = self.nodes + self.aliased
        value = self.content(event, path, literal)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, self.nodes + self.aliased - before + 1)
        return value

    def content(self, event: Any, path: Path, literal: bool) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0] and not literal
            return self.read_scalar(event.value) if plain else event.value
        if len(path) >= DEEPEST:
            raise file_error(
                Text(
                    f"Nested more than {DEEPEST} levels deep, too much for a job",
                    f"嵌套超过 {DEEPEST} 层；任务文件不需要这样",
                ),
                event.start_mark.line + 1,
            )
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(path, literal)
        return self.mapping(path, literal)

    def alias(self, anchor: str | None, line: int) -> Any:
        if anchor is None or anchor not in self.anchors:
            raise file_error(
                Text(
                    f"*{anchor} refers to an undefined anchor, or to itself; put &{anchor} before "
                    "an earlier value",
                    f"*{anchor} 引用了前面没有命名的值或它自身；请在前面的值上写 &{anchor}",
                ),
                line,
            )
        value, size = self.anchors[anchor]
        self.aliased += size
        if self.aliased > MOST_ALIASED:
            raise file_error(
                Text(
                    f"*{anchor}: the aliases in this file repeat more than {MOST_ALIASED} values; "
                    "write them out or use fewer",
                    f"*{anchor}：文件中的别名重复了超过 {MOST_ALIASED} 个值；请直接写出或减少使用",
                ),
                line,
            )
        return value

    def sequence(self, path: Path, literal: bool) -> list[Any]:
        values: list[Any] = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            place = (*path, len(values))
            self.lines[place] = event.start_mark.line + 1
            values.append(self.node(event, place, literal))
        return values

    def mapping(self, path: Path, literal: bool) -> dict[str, Any]:
        values: dict[str, Any] = {}
        merged: list[Any] = []
        is_role = bool(path) and path[-1] == "roles"
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            line = event.start_mark.line + 1
            if not isinstance(event, yaml.ScalarEvent):
                raise file_error(
                    Text(
                        "A key must be text, not a list, a mapping or an alias; quote it",
                        "键必须是文字，不能是列表、映射或别名；请加引号",
                    ),
                    line,
                )
            _check_tag(event.tag, line)
            key = event.value
            place = (*path, key)
            if key == "<<" and event.implicit[0]:
                merged.append((self.node(next(self.events), place, literal), line))
                continue
            if key in values:
                self.duplicate(place, line)
            self.lines[place] = line
            values[key] = self.value_of(key, place, literal, is_role)
        for value, line in merged:
            _merge(values, value, line)
        return values

    def value_of(self, key: str, place: Path, literal: bool, is_role: bool) -> Any:
        event = next(self.events)
        # A search may have a parameter of that name.
        searched = place[0] == "search" or (isinstance(place[0], int) and place[1] == "search")
        if literal or is_role or key not in self.literal_keys or searched:
            return self.node(event, place, literal)
        if isinstance(event, yaml.ScalarEvent) and event.implicit[0] and event.value in _NULLS:
            return self.node(event, place, False)
        return self.node(event, place, True)

    def duplicate(self, place: Path, line: int) -> None:
        first = self.lines[place]
        self.twice[place] = line
        self.findings.append(
            Finding(
                place,
                NO_VALUE,
                Text(
                    f"duplicate key (first in line {first}); keep one",
                    f"此键重复出现（第一次在第 {first} 行）；请只保留一个",
                ),
            )
        )


def _merge(values: dict[str, Any], merged: Any, line: int) -> None:
    parts = merged if isinstance(merged, list) else [merged]
    for part in parts:
        if not isinstance(part, dict):
            raise file_error(
                Text(
                    "<< merges a mapping; use an alias of one, e.g. <<: *base",
                    "<< 用来合并映射；请写映射的别名，例如 <<: *base",
                ),
                line,
            )
        for key, value in part.items():
            values.setdefault(key, value)


def _check_tag(tag: str | None, line: int) -> None:
    if tag in (None, "!", "tag:yaml.org,2002:str"):
        return
    shown = str(tag).replace("tag:yaml.org,2002:", "!!")[:40]
    raise file_error(
        Text(
            f"The YAML tag {shown!r} is not supported; write plain values",
            f"不支持 YAML 标签 {shown!r}；请写普通的值",
        ),
        line,
        shown,
    )


_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # line breaks in YAML


def _syntax_error(error: yaml.YAMLError, text: str) -> SpecError:
    if isinstance(error, yaml.reader.ReaderError):
        return file_error(
            Text(
                "The file contains a control character that YAML does not allow; remove it",
                "文件含有 YAML 不允许的控制字符；请删除",
            ),
            control_line(text),
        )
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        return file_error(Text("The file is not valid YAML", "文件不是合法的 YAML"))
    lines = _BREAK.split(text)
    opened = _opened(error)
    if opened is not None and opened.line < len(lines):
        content = lines[opened.line].strip()[:60]
        return file_error(
            Text(
                f"Invalid YAML: what opens at column {opened.column + 1} is not closed, or "
                f"contains an error: {content!r}; check quotes, brackets and commas",
                f"不是合法的 YAML：第 {opened.column + 1} 列开始的括号或引号没有闭合，或其中有误："
                f"{content!r}；请检查引号、括号和逗号",
            ),
            opened.line + 1,
            content,
        )
    if not "".join(lines[mark.line :]).strip():
        return file_error(
            Text(
                "Invalid YAML: the file ends inside brackets or quotes that are not closed",
                "不是合法的 YAML：文本结束时还有括号或引号没有闭合",
            ),
            mark.line + 1,
        )
    content = lines[mark.line].strip()[:60]
    hint = _hint(str(getattr(error, "problem", "")), lines[mark.line : mark.line + 1])
    return file_error(
        Text(
            f"Invalid YAML at column {mark.column + 1}: {content!r}; {hint.en}",
            f"第 {mark.column + 1} 列不是合法的 YAML：{content!r}；{hint.zh}",
        ),
        mark.line + 1,
        content,
    )


def _opened(error: yaml.YAMLError) -> yaml.Mark | None:
    """Where a bracket or quote opened that a later line shows to be unclosed."""
    first, last = getattr(error, "context_mark", None), getattr(error, "problem_mark", None)
    context, problem = str(getattr(error, "context", "")), str(getattr(error, "problem", ""))
    within = "flow" in context or ("scalar" in context and "unexpected end" in problem)
    late = first is not None and last is not None and last.line > first.line
    return first if within and late else None


def _hint(problem: str, line: list[str]) -> Text:
    if "\t" in "".join(line)[:64]:
        return Text("use spaces instead of tabs", "请用空格代替制表符")
    if "mapping values are not allowed" in problem:
        return Text(
            "quote text that contains ': ', and check the indentation",
            "含有 ': ' 的文字请加引号，并检查缩进",
        )
    if "cannot start any token" in problem:
        return Text(
            "quote text that begins with a special character", "以特殊字符开头的文字请加引号"
        )
    return Text("check quotes, brackets and indentation", "请检查引号、括号和缩进")


def control_line(text: str) -> int | None:
    """The line of the first control character."""
    match = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]", text)
    return None if match is None else text.count("\n", 0, match.start()) + 1
