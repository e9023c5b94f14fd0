"""How people name jobs (`alice/mnist-3.7`) and the elements of an array (`0-9:2%4`)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from unicodedata import normalize

from danlu.spec.errors import wrong
from danlu.spec.ids import is_uuid
from danlu.spec.job import Array
from danlu.spec.text import Text

NAME_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"
"""Names of queues, groups and volumes."""

JOB_NAME_PATTERN = r"\w[\w.-]{0,63}"
"""Names of jobs, in any language. A name may itself end in -<number>."""

_EVERY = re.compile(rf"({JOB_NAME_PATTERN})-\*")

LARGEST_INDEX = 999_999_999
MOST_INDEXES = 100_000
"""The most a file may spell out; the platform's own limit (`Defaults.max_array`) is lower."""

# The name is greedy, so the last -<number> is the number: vit-2-1 is the first job named vit-2.
_REF = re.compile(
    rf"(?:([A-Za-z0-9_][A-Za-z0-9_.@-]{{0,63}})[/~])?({JOB_NAME_PATTERN})-([1-9][0-9]{{0,17}})"
    r"(?:\.(0|[1-9][0-9]{0,8}))?"
)

# As in Slurm: 1234, or 1234_7 for an element of array 1234.
_SEQ = re.compile(r"([1-9][0-9]{0,17})(?:_([0-9]{1,9}))?", re.ASCII)


LONGEST_ENVIRONMENT = 27
_ENVIRONMENT = re.compile(
    rf"(?:([A-Za-z0-9_][A-Za-z0-9_.@-]{{0,63}})[/~])?([A-Za-z0-9_]{{1,{LONGEST_ENVIRONMENT}}})"
)


@dataclass(frozen=True, slots=True)
class JobRef:
    """A job by its id, by its global number, or by owner (None: the caller), name, number and array
    index.
    """

    owner: str | None = None
    name: str = ""
    number: int = 0
    index: int | None = None
    id: str | None = None
    seq: int | None = None

    def __str__(self) -> str:
        if self.id is not None:
            return self.id
        if self.seq is not None:
            return str(self.seq) if self.index is None else f"{self.seq}_{self.index}"
        owner = f"{self.owner}/" if self.owner else ""
        index = "" if self.index is None else f".{self.index}"
        return f"{owner}{self.name}-{self.number}{index}"


def every_of(text: str) -> str | None:
    """The name in `mnist-*`: all of the owner's unfinished jobs of that name."""
    match = _EVERY.fullmatch(text)
    return match[1] if match else None


def parse_ref(text: str) -> JobRef:
    """Raises `Wrong` (a ValueError with texts in both languages)."""
    plain = normalize("NFC", text.strip())
    if is_uuid(plain.lower()):
        return JobRef(id=plain.lower())
    numbered = _SEQ.fullmatch(plain)
    if numbered is not None:
        index = numbered[2]
        return JobRef(seq=int(numbered[1]), index=None if index is None else int(index))
    match = _REF.fullmatch(plain)
    if match is None:
        raise wrong(
            text,
            Text(
                "is not a job reference; use its name and number (mnist-3), with the owner "
                "(alice/mnist-3), one element of an array (mnist-3.7), or its id",
                "不是任务的名称；请写名称和编号，例如 mnist-3；带所有者 alice/mnist-3；"
                "数组中的一个 mnist-3.7；或任务的 id",
            ),
        )
    owner, name, number, index = match.groups()
    return JobRef(owner, name, int(number), None if index is None else int(index))


def environment_ref(text: str) -> tuple[str | None, str] | None:
    """Owner (None: the caller) and name of an environment; None: it is not such a name."""
    match = _ENVIRONMENT.fullmatch(text.strip())
    # Digits alone are the number of a job.
    if match is None or not any(letter.isalpha() for letter in match[2]):
        return None
    return match[1], match[2]


_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})(?::([1-9][0-9]{0,8}))?", re.ASCII)
_INDEX = re.compile(r"[0-9]{1,9}", re.ASCII)
_LIMIT = re.compile(r"[1-9][0-9]{0,5}", re.ASCII)

_ARRAY = Text(
    "is not an array; use a count (10: elements 0 to 9), ranges such as 0-9, 0-20:5 or 1,3,5-7, "
    "or a list of indexes; %4 at the end lets at most 4 run at once",
    "不是数组；请写个数（10：元素 0 到 9）、范围（0-9、0-20:5、1,3,5-7）或下标列表；"
    "末尾的 %4 表示最多同时运行 4 个",
)


def parse_array(value: object) -> Array:
    """From a count, a list of indexes, or text. Raises `Wrong`."""
    if isinstance(value, str):
        return _array_from_text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return Array(_count(value, value))
    if isinstance(value, list) and value:
        return Array(_from_list(value))
    raise wrong(value, _ARRAY)


def _array_from_text(text: str) -> Array:
    body, percent, after = "".join(text.split()).partition("%")
    if percent and not _LIMIT.fullmatch(after):
        raise wrong(text, _ARRAY)
    limit = int(after) if percent else None
    if _INDEX.fullmatch(body):
        return Array(_count(int(body), text), limit)
    indexes: list[int] = []
    for part in body.split(","):
        span = _span(part)
        if span is None:
            raise wrong(text, _ARRAY)
        if len(indexes) + len(span) > MOST_INDEXES:
            raise _too_many(text)
        indexes.extend(span)
    return Array(_distinct(indexes, text), limit)


def _span(part: str) -> range | None:
    if _INDEX.fullmatch(part):
        return range(int(part), int(part) + 1)
    match = _RANGE.fullmatch(part)
    if match is None:
        return None
    span = range(int(match[1]), int(match[2]) + 1, int(match[3] or 1))
    return span if span else None


def _count(count: int, value: object) -> tuple[int, ...]:
    if count < 1:
        raise wrong(value, _ARRAY)
    if count > MOST_INDEXES:
        raise _too_many(value)
    return tuple(range(count))


def _from_list(value: list[object]) -> tuple[int, ...]:
    if len(value) > MOST_INDEXES:
        raise _too_many(value)
    indexes = []
    for item in value:
        index = int(item) if isinstance(item, str) and _INDEX.fullmatch(item) else item
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index <= LARGEST_INDEX:
            raise wrong(
                item,
                Text(
                    f"is not an array index; use integers from 0 to {LARGEST_INDEX}",
                    f"不是数组下标；请写 0 到 {LARGEST_INDEX} 的整数",
                ),
            )
        indexes.append(index)
    return _distinct(indexes, value)


def _distinct(indexes: list[int], value: object) -> tuple[int, ...]:
    if len(set(indexes)) == len(indexes):
        return tuple(indexes)
    twice = next(index for index, times in Counter(indexes).items() if times > 1)
    raise wrong(
        value,
        Text(f"contains index {twice} twice", f"中下标 {twice} 出现两次；每个只写一次"),
    )


def _too_many(value: object) -> ValueError:
    return wrong(
        value,
        Text(
            f"has more than {MOST_INDEXES} elements; use several smaller arrays",
            f"超过 {MOST_INDEXES} 个元素；请分成几个较小的数组",
        ),
    )


def format_array(array: Array) -> str:
    """The shortest form that parses to the same array."""
    indexes = array.indexes
    limit = "" if array.limit is None else f"%{array.limit}"
    if len(indexes) > 1:
        step = indexes[1] - indexes[0]
        if step > 0 and indexes == tuple(range(indexes[0], indexes[-1] + 1, step)):
            return f"{indexes[0]}-{indexes[-1]}{'' if step == 1 else f':{step}'}{limit}"
    if len(indexes) == 1:
        return f"{indexes[0]}-{indexes[0]}{limit}"
    return ",".join(map(str, indexes)) + limit
