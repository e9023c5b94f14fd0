"""What routes for files take and return.

Paths are those a task sees (`/userhome/x`, `/mnt/share/lab/x`, `/gdata/x`). Bytes of a name that
are not UTF-8 are written as `\\xHH`, so every name can be shown, and sent back as it was shown.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

Values = dict[str, Any]
LONGEST_PATH = 16384
Path = Annotated[str, Field(min_length=1, max_length=LONGEST_PATH)]
Paths = Annotated[list[Path], Field(min_length=1, max_length=1000)]
Conflict = Literal["refuse", "overwrite", "rename"]
Kind = Literal["file", "folder", "link", "other"]


class FileRoot(BaseModel):
    """A volume as the file centre shows it."""

    path: str = Field(examples=["/userhome"])
    volume: str = Field(examples=["userhome"])
    read_only: bool
    tier: str
    note: str
    total: int | None = Field(description="bytes of the file system, or of a quota on the folder")
    free: int | None = Field(description="bytes you can still write; null: it did not answer")
    used: int | None = Field(description="bytes below it when last measured, plus uploads since")
    used_at: float | None = Field(description="when it was measured; null: not yet")
    quota: int | None = Field(description="bytes you may keep there; null: no quota")
    bin: bool = Field(description="whether deleted files go to a bin")
    problem_en: str = Field("", description="why it cannot be used just now")
    problem_zh: str = ""


class FileRoots(BaseModel):
    roots: list[FileRoot]
    bin_days: int = Field(description="after this many days the bin forgets a file")


class FileEntry(BaseModel):
    name: str = Field(examples=["train.py"])
    path: str = Field(examples=["/userhome/project/train.py"])
    kind: Kind
    size: int = Field(description="bytes; of a folder: 0")
    modified_at: float
    mode: str = Field(description="as ls -l shows it", examples=["-rw-r--r--"])
    owner: str = Field(description="name, or uid", examples=["alice"])
    target: str | None = Field(None, description="of a link: where it points")
    target_kind: Kind | None = Field(
        None, description="of a link: what it leads to; null: nothing you can open here"
    )


class FileList(BaseModel):
    path: str
    entries: list[FileEntry]
    offset: int
    next_offset: int | None = Field(description="of the next page; null: this is the last")
    total: int = Field(description="entries of the folder, as far as it was read")
    complete: bool = Field(
        description="false: it has more entries than were read; the page is sorted among those"
    )
    reading: bool = Field(
        False, description="true: the others are being read; ask again for the page of all"
    )
    sort: str = Field(
        description="the order of this page; `name` where a folder is too large for another one"
    )
    read_only: bool


class NotebookCell(BaseModel):
    kind: Literal["markdown", "code", "raw"]
    source: str
    number: int | None = Field(None, description="of an executed code cell")
    texts: list[str] = Field([], description="its output as plain text")
    images: list[str] = Field([], description="its output as data: URLs of PNG or JPEG")


class FilePreview(BaseModel):
    path: str
    kind: Literal["text", "image", "notebook", "folder", "binary"]
    size: int
    modified_at: float
    media_type: str = Field(examples=["text/x-python"])
    encoding: str | None = Field(None, examples=["utf-8"])
    text: str | None = None
    offset: int = Field(0, description="of the first byte of the text")
    complete: bool = Field(True, description="false: only a part is shown")
    cells: list[NotebookCell] | None = None
    language: str | None = Field(None, description="of a notebook", examples=["python"])


class NewFolder(BaseModel):
    path: Path
    parents: bool = Field(False, description="make missing folders above it, accept that it exists")


class FileMove(BaseModel):
    paths: Paths
    into: Path | None = Field(None, description="an existing folder; or `to`")
    to: Path | None = Field(None, description="the new path of a single file or folder")
    conflict: Conflict = Field("refuse", description="if the name is taken")


class FileDelete(BaseModel):
    paths: Paths
    forever: bool = Field(False, description="do not put it into the bin")


class FileProblem(BaseModel):
    path: str
    status: int = Field(description="as of an HTTP answer: 404, 403, 409, ...", examples=[404])
    message_en: str
    message_zh: str


class FileOperation(BaseModel):
    """Something that may take long. It runs on without the request that began it."""

    id: str
    kind: Literal["copy", "move", "delete", "restore", "empty", "unpack", "usage"]
    state: Literal["running", "done", "failed", "cancelled"]
    paths: list[str]
    target: str | None
    files_done: int
    bytes_done: int
    files_total: int | None = Field(description="null: not known yet")
    bytes_total: int | None
    results: list[str] = Field(description="paths it made; at most 1,000")
    problems: list[FileProblem] = Field(description="what could not be done; at most 100")
    problem_count: int
    started_at: float
    ended_at: float | None
    status: int | None = Field(
        None, description="why it failed, as of an HTTP answer: 404, 403, 409, ..."
    )
    message_en: str = Field("", description="why it failed")
    message_zh: str = ""


class FileOperations(BaseModel):
    operations: list[FileOperation]


class UsageChild(BaseModel):
    name: str
    kind: Kind
    size: int
    files: int


class FileUsage(BaseModel):
    path: str
    size: int = Field(description="bytes on the disk")
    files: int
    folders: int
    children: list[UsageChild] = Field(description="largest first; at most 1,000")
    complete: bool = Field(description="false: some folders could not be read or it took too long")
    measured_at: float | None = Field(description="null: not measured yet")
    operation: str | None = Field(description="the operation that measures it now")


class BinItem(BaseModel):
    id: str = Field(examples=["userhome~19a8d6e0c1f7aa0"])
    path: str = Field(description="where it was")
    name: str
    kind: Kind
    size: int
    deleted_at: float
    expires_at: float


class BinList(BaseModel):
    items: list[BinItem]
    complete: bool = Field(description="false: there are more than are shown")


class BinRestore(BaseModel):
    ids: list[Annotated[str, Field(max_length=200)]] = Field(min_length=1, max_length=1000)
    conflict: Conflict = "refuse"


class BinEmpty(BaseModel):
    ids: list[Annotated[str, Field(max_length=200)]] | None = Field(
        None, max_length=1000, description="null: everything in the bins"
    )
