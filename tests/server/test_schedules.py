"""How danlu.toml speaks of queues, orders, quotas and kinds of work."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.sched.api import Policy, QueuePolicy, Quota, Quotas
from danlu.server.settings import ConfigError, load


def config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "danlu.toml"
    path.write_text(text)
    return path


def test_without_a_word_it_is_first_come_first_served_learned_and_without_caps(
    tmp_path: Path,
) -> None:
    found = load(config(tmp_path, ""))
    assert found.policy == Policy("fifo", "learned", True)
    assert found.quotas == Quotas()


def test_a_group_is_not_guaranteed_more_than_it_may_use(tmp_path: Path) -> None:
    text = "[quotas.groups.lab]\ngpus = 2\nguaranteed = 4"
    with pytest.raises(ConfigError, match=r"guaranteed.*may use at most 2"):
        load(config(tmp_path, text))


def test_queues_have_nodes_and_rules_of_their_own(tmp_path: Path) -> None:
    found = load(
        config(
            tmp_path,
            """
            [scheduler]
            place = "spread"
            [queues.vision]
            nodes = ["n1", "n2"]
            place = "tight"
            backfill = false
            max_wait = "2h"
            preempt = "lower-priority"
            priority = -2
            weight = 1.5
            [queues.speech]
            """,
        )
    )
    assert found.policy.queues == {
        "vision": QueuePolicy(
            place="tight",
            nodes=frozenset({"n1", "n2"}),
            backfill=False,
            max_wait=7200.0,
            preempt="lower-priority",
            priority=-2,
            weight=1.5,
        ),
        "speech": QueuePolicy(place="spread"),
    }
    assert found.policy.queue("default").place == "spread"


def test_quotas_of_users_groups_and_everybody_else(tmp_path: Path) -> None:
    found = load(
        config(
            tmp_path,
            """
            [quotas.users.alice]
            gpus = 8
            models = { A100 = 2 }
            cpus = 64
            memory = "256G"
            [quotas.groups.vision]
            gpus = 12
            guaranteed = 4
            [quotas.user]
            gpus = 0
            """,
        )
    )
    assert found.quotas == Quotas(
        users={"alice": Quota(8000, {"A100": 2000}, 64.0, 256 << 30)},
        groups={"vision": Quota(12_000, guaranteed=4000)},
        user=Quota(0),
    )


def test_zero_is_a_quota_of_everything(tmp_path: Path) -> None:
    text = "[quotas.group]\ngpus = 0\nmodels = { A100 = 0 }\ncpus = 0\nmemory = 0\n"
    assert load(config(tmp_path, text)).quotas.group == Quota(0, {"A100": 0}, 0.0, 0)


def test_kinds_of_work_are_limited_to_models(tmp_path: Path) -> None:
    found = load(config(tmp_path, '[kinds.environment]\nmodels = ["T4", "RTX 3090"]\n'))
    assert found.policy.kinds == {"environment": frozenset({"T4", "RTX 3090"})}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[scheduler]\norder = "lifo"', "scheduler.order: 'lifo'"),
        ('[scheduler]\nplace = "anywhere"', "scheduler.place: 'anywhere'"),
        ("[scheduler]\npolicy = 1", "scheduler.policy"),
        ('queues = "all"', "queues: 'all'"),
        ('[queues.a]\nnode = ["n1"]', "did you mean nodes?"),
        ("[queues.a]\nnodes = []", "queues.a.nodes"),
        ("[queues.a.settings]\nworht = 5", "did you mean worth?"),
        ("[queues.a.settings]\nworth = 0", "queues.a.settings.worth: 0"),
        ("[queues.a.settings]\npatience = -1", "queues.a.settings.patience: -1"),
        ("[quotas.users.alice]\ngpus = -1", "quotas.users.alice.gpus: -1: must be a number, 0"),
        ("[quotas.users.alice]\ncpus = -1", "quotas.users.alice.cpus: -1: must be a number, 0"),
        ("[quotas.users.alice]\ngpus = true", "quotas.users.alice.gpus: True"),
        ("[quotas.users]\nalice = 3", "quotas.users"),
        ('[quotas.groups.x]\nmodels = "A100"', "quotas.groups.x.models"),
        ('[kinds.training]\nmodels = ["T4"]', "kinds: 'training'"),
        ("[kinds.environment]", "kinds.environment.models"),
    ],
)
def test_every_mistake_is_named(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(config(tmp_path, text))
    assert named in caught.value.message.en
    assert any("\u4e00" <= letter <= "\u9fff" for letter in caught.value.message.zh)
