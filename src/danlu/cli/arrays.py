"""Where a command needs one job, the name of an array means its first one; this says so."""

from __future__ import annotations

from danlu.cli.failure import complain
from danlu.cli.texts import t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.sdk import model


def tell_if_array(asked: str, job: model.JobDetail) -> None:
    index = job.get("array_index")
    if index is not None and asked != job["id"] and not asked.endswith(f".{index}"):
        complain(t("array.first", asked=asked, ref=job["ref"], name=job["name"]))
