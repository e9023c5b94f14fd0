"""A small cluster with people, jobs in every state and an admin who sees every page of it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.api.harness import Job
from tests.api.people_harness import PASSWORD, Someone, caller, public_key
from tests.web.harness import WebHarness

TRAINING = r"""
for i in $(seq 1 400); do printf 'step %05d loss 0.%04d lr 1.8e-05\n' $i $((9999 - i * 20)); done
printf '\033[33mWARN\033[0m dataloader waited 1.8 s\n'
printf '10%%\r60%%\r100%% saved\n'
sleep 1000
"""


@dataclass
class Filled:
    web: WebHarness
    me: Someone  # an admin who leads a group
    newcomer: Someone
    running: Job
    waiting: Job
    failed: Job
    hidden: Job

    def pages(self) -> dict[str, tuple[str, str]]:
        """Address, and what is there once it is drawn."""
        (group,) = self.me.get("/whoami")["leads"]
        admin = ("users", "invitations", "groups", "quotas", "queues", "nodes", "volumes")
        return {
            "map": ("/", ".gpu-row"),
            "map-table": ("/?table=1", "[data-twin] td"),
            "map-wall": ("/?wall=1", ".gpu-row"),
            "submit": ("/submit", ".verdict .sentence"),
            "jobs": ("/jobs?owner=all", "tbody tr"),
            "job-waiting": (f"/jobs/{self.waiting['id']}", ".why-card .sentence"),
            "job-running": (f"/jobs/{self.running['id']}", ".charts figure"),
            "job-failed": (f"/jobs/{self.failed['id']}", ".end-card"),
            "environments": ("/environments", ".environment .ssh-line code"),
            "environment-new": ("/environments/new", ".verdict .sentence"),
            "environment-running": (f"/environments/{self.me.name}~dev", ".limits"),
            "environment-waiting": (f"/environments/{self.me.name}~big", ".why-card .sentence"),
            "environment-stopped": (f"/environments/{self.me.name}~notes", ".end-card"),
            "files": ("/files", ".file-rows"),
            "files-bin": ("/files?bin=1", "main .empty"),
            "datasets": ("/datasets", "main .empty"),
            "images": ("/images", "main .empty"),
            "image-new": ("/images/new", "input[name=base]"),
            "disks": ("/disks", ".manage .table"),
            "account": ("/account", ".manage .table"),
            "group": (f"/group/{group}", ".usage"),
            **{f"admin-{tab}": (f"/admin/{tab}", ".manage") for tab in (*admin, "audit", "backup")},
        }


def fill(web: WebHarness) -> Filled:
    people = web.people
    group = people.group()
    me, bob = people.person(leads=group, name="zhangyue"), people.person(group, name="bob")
    alice, hui = people.person(group, name="alice"), people.person(name="wanghui")
    people.admin.do("PATCH", f"/users/{me.name}", {"role": "admin", "full_name": "张悦"})
    people.admin.do("PUT", f"/quotas/user/{me.name}", {"gpus": 8})
    people.admin.do("PUT", f"/quotas/group/{group}", {"gpus": 12, "guaranteed": 4})
    people.admin.do("PUT", "/queues/vision", {"nodes": ["n3", "n4"], "order": "fair"})
    me.do("POST", "/ssh-keys", {"key": public_key("zhangyue@laptop")})
    me.do("POST", "/tokens", {"label": "nightly evaluation"})
    with caller(web.server, None) as http:
        asked = {"name": "newstudent", "password": PASSWORD, "group": group, "note": "from Mon"}
        assert http.post("/sign-up", json=asked).status_code == 201
    web.run(alice, name="mnist", gpus=2, time_limit="3h", group=group)
    running = web.run(me, name="vit-base", gpus=1, time_limit="9h", group=group, command=TRAINING)
    web.run(bob, name="a-rather-long-name-for-a-job", gpus=2, group=group)
    web.run(hui, name="clip-zh", gpus=4, time_limit="14h")
    web.run(hui, name="seg", gpus=3, time_limit="4h")
    people.admin.do("POST", "/nodes/n4/drain", {"reason": "new power supply"})
    waiting = web.queue(me, name="llava-ft", gpus=4, time_limit="5h", group=group)
    web.queue(bob, name="bert", gpus=5, time_limit="8h", group=group)
    web.queue(alice, name="sweep", gpus=1, array="0-7", held=True, group=group)
    environments(web, me, alice, hui)
    failed = web.queue(
        me, name="swin", group=group, command="echo 'CUDA out of memory' >&2; exit 1"
    )
    web.harness.wait(failed)
    hidden = web.queue(hui, name="secret", held=True)
    return Filled(web, me, people.person(), running, waiting, failed, hidden)


def environments(web: WebHarness, me: Someone, *others: Someone) -> None:
    """One that runs and ends soon, one that waits, one that is stopped, one of another person."""
    (group,) = me.get("/whoami")["leads"]
    asks = {"cpus": 1, "memory": "1G"}
    mine = {**asks, "group": group}
    me.do("POST", "/environments", {"name": "dev", "gpus": 1, "time_limit": "25m", **mine})
    me.do("POST", "/environments", {"name": "big", "gpus": 5, "time_limit": "8h", **mine})
    me.do("POST", "/environments", {"name": "notes", **mine})
    for other in others:
        me.do("PUT", f"/environments/dev/shares/{other.name}")
    theirs = others[-1]
    theirs.do("POST", "/environments", {"name": "a_name_of_27_characters_now", **asks})
    theirs.do("PUT", f"/environments/a_name_of_27_characters_now/shares/{me.name}")
    for name in ("dev", "notes"):
        web.harness.until(me.get(f"/environments/{name}")["job"], "running")
    me.do("POST", "/environments/notes/stop")
