"""`--constraint` of an sbatch script: GPU models and features of nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.language import Site
from danlu.spec.text import Text

_KEY = ("--constraint",)
_MODEL = re.compile(
    r"(?:gpu[_=:-]?)?((?:(?:rtx|gtx|titan|quadro|tesla)?[_-]?"
    r"(?:[kpvtahlm]\d{1,3}[a-z]{0,2}|[1-5]0[5-9]0(?:ti)?|a6000|a5000|mi\d{2,3}x?))"
    r"(?:[_-]?\d{1,3}gb?)?)",
    re.ASCII | re.IGNORECASE,
)
_COUNT = re.compile(r"\*\d+$", re.ASCII)
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Constraint:
    model: str | None = None
    labels: tuple[str, ...] = ()


def read_constraint(draft: Draft, value: str, site: Site, has_gpus: bool) -> Constraint:
    """Models become the job's, features that nodes here have as labels are required."""
    model: str | None = None
    labels: list[str] = []
    ignored: list[str] = []
    for term in _terms(value.strip().strip("\"'")):
        models = [match[1].strip("_-") for each in term if (match := _MODEL.fullmatch(each))]
        if len(models) == len(term) and has_gpus and model is None:
            model = _choose(draft, models, site)
        elif len(term) == 1 and term[0] in site.labels:
            labels.append(term[0])
            draft.note(
                _KEY,
                Text(
                    f"the node must have the label {term[0]}",
                    f"节点必须有标签 {term[0]}",
                ),
            )
        else:
            ignored.append("|".join(term))
    if ignored:
        shown = "&".join(ignored)[:200]
        draft.note(
            _KEY,
            Text(
                f"{shown!r} is ignored: any node that fits is used; set `nodes: {{labels: [...]}}` "
                "in the native job to require labels",
                f"{shown!r} 被忽略：任何放得下的节点均可；原生任务的 `nodes: {{labels: [...]}}` 可"
                "要求节点具有某些标签",
            ),
        )
    return Constraint(model, tuple(dict.fromkeys(labels)))


def _terms(value: str) -> list[list[str]]:
    """What is joined by `&`, each with its alternatives. Counts of nodes are left out."""
    plain = re.sub(r"[][()\s]", "", value[:_LONGEST])
    terms = []
    for part in re.split(r"[&,]", plain):
        found = [_COUNT.sub("", each) for each in part.split("|")]
        if any(found):
            terms.append([each for each in found if each])
    return terms


def _choose(draft: Draft, models: list[str], site: Site) -> str | None:
    """A job names one model: of several, the first that exists here."""
    here = [size.model for size in site.sizes if size.model]
    fitting = [name for name in models if any(alike(name, model) for model in here)]
    chosen = (fitting or models)[0]
    if len(models) == 1:
        draft.note(_KEY, Text(f"asks for the GPU model {chosen}", f"申请型号为 {chosen} 的卡"))
        return chosen
    listed = Text(" or ".join(models), " 或 ".join(models))
    if here and all(any(alike(name, model) for name in models) for model in here):
        draft.note(
            _KEY,
            Text(
                f"asks for {listed.en}, and every GPU here is one of them",
                f"申请 {listed.zh}；这里的卡都符合",
            ),
        )
        return None
    draft.note(
        _KEY,
        Text(
            f"asks for {listed.en}; a job here names one GPU model: {chosen}",
            f"申请 {listed.zh}；任务在这里只能写一种型号：{chosen}",
        ),
    )
    return chosen


def alike(name: str, model: str) -> bool:
    """Roughly: only to choose between alternatives. The scheduler decides what fits."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    whole = re.sub(r"[^a-z0-9]", "", model.lower())
    base = re.sub(r"\d{1,3}gb?$", "", plain) or plain
    return plain in whole or base in whole
