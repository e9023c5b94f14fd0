"""What to do on which machine with the files that `danlu slurm init` wrote."""

from __future__ import annotations

from danlu.server.slurm.nodes import Lab
from danlu.spec.text import Text

MUNGE = """\
#!/bin/sh
# Written by `danlu slurm init`. Run it on {controller} as root, once: all machines of a
# cluster have the same secret key, and whoever has it can be anybody there.
set -eu
key=/etc/munge/munge.key
[ -s "$key" ] || {{
  umask 077
  dd if=/dev/urandom of="$key" bs=1 count=1024 2>/dev/null
}}
chown munge:munge "$key"
chmod 400 "$key"
systemctl enable --now munge
systemctl restart munge
for node in {others}; do
  scp -p "$key" "root@$node:$key"
  ssh "root@$node" "chown munge:munge $key && chmod 400 $key"
  ssh "root@$node" "systemctl enable munge && systemctl restart munge"
done
munge -n | unmunge >/dev/null && echo "munge works on $(hostname -s)"
for node in {others}; do
  munge -n | ssh "root@$node" unmunge >/dev/null && echo "munge works between here and $node"
done
"""


def munge_script(lab: Lab) -> str:
    others = " ".join(
        node.address or node.name for node in lab.nodes if node.name != lab.controller
    )
    return MUNGE.format(controller=lab.controller, others=others)


def steps(lab: Lab) -> Text:
    all_machines = list(dict.fromkeys([lab.controller, *(node.name for node in lab.nodes)]))
    machines, nodes = ", ".join(all_machines), ", ".join(node.name for node in lab.nodes)
    others = " ".join(name for name in all_machines if name != lab.controller)
    user, shared = lab.slurm_user, lab.shared or "/shared"
    copy = f"for n in {others}; do scp slurm.conf gres.conf cgroup.conf root@$n:/etc/slurm/; done"
    copies = Text(f"     {copy}\n", f"     {copy}\n") if others else Text("", "")
    return Text(
        f"""\
Slurm {lab.cluster}: {len(all_machines)} machines ({machines}), controller {lab.controller}

1. On every machine, as root:
     apt-get install --no-install-recommends munge slurm-wlm chrony
   Every account has the same uid and gid on every machine (also {user} and munge), and all
   clocks agree: chrony takes care of that. The name of a machine is what `hostname -s` prints
   there, and the others can resolve it.
2. A folder that all machines see under the same path, e.g. NFS: {shared}
3. On {lab.controller}, as root: one munge key for all
     sh munge.sh
4. On {lab.controller}, as root: the same configuration on every machine
     cp slurm.conf gres.conf cgroup.conf /etc/slurm/
{copies.en}5. On {lab.controller}, as root:
     install -d -o {user} -g {user} /var/lib/slurm/slurmctld /var/log/slurm
     systemctl enable --now slurmctld
6. On every node ({nodes}), as root:
     install -d /var/lib/slurm/slurmd /var/log/slurm
     systemctl enable --now slurmd
7. Check that everything works:
     danlu slurm check nodes.toml
     sinfo -N
""",
        f"""\
Slurm {lab.cluster}：{len(all_machines)} 台机器（{machines}），控制节点 {lab.controller}

1. 在每台机器上以 root 执行：
     apt-get install --no-install-recommends munge slurm-wlm chrony
   每个账号（包括 {user} 与 munge）在所有机器上的 uid、gid 都要一致；各机器时钟要一致
   （chrony 负责）。机器名即该机器上 `hostname -s` 的输出，其他机器要能解析它。
2. 一个所有机器以相同路径可见的目录（如 NFS）：{shared}
3. 在 {lab.controller} 上以 root 执行，让所有机器使用同一个 munge 密钥：
     sh munge.sh
4. 在 {lab.controller} 上以 root 执行，把相同的配置放到每台机器：
     cp slurm.conf gres.conf cgroup.conf /etc/slurm/
{copies.zh}5. 在 {lab.controller} 上以 root 执行：
     install -d -o {user} -g {user} /var/lib/slurm/slurmctld /var/log/slurm
     systemctl enable --now slurmctld
6. 在每个节点（{nodes}）上以 root 执行：
     install -d /var/lib/slurm/slurmd /var/log/slurm
     systemctl enable --now slurmd
7. 检查是否一切正常：
     danlu slurm check nodes.toml
     sinfo -N
""",
    )
