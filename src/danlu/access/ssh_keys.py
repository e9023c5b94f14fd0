"""SSH keys: what a public key looks like, and which keys a user has."""

from __future__ import annotations

import base64
import binascii
import hashlib
import time
import uuid
from dataclasses import dataclass

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash, Crowded, NotAllowed, NotThere, Unfit
from danlu.access.principal import Asker, Principal
from danlu.spec.text import Text
from danlu.store import ssh_keys
from danlu.store.rows import SshKeyRow
from danlu.store.store import Store
from danlu.store.tx import Tx

KINDS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
)
MOST = 50
SHORTEST_RSA = 2048
_LONGEST_LABEL = 200


@dataclass(frozen=True, slots=True)
class PublicKey:
    kind: str
    blob: bytes
    comment: str

    @property
    def line(self) -> str:
        return f"{self.kind} {base64.b64encode(self.blob).decode()}"

    @property
    def fingerprint(self) -> str:
        digest = hashlib.sha256(self.blob).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def parse(line: str) -> PublicKey:
    """Reads one line of a .pub file. Options before the key are not accepted."""
    if "PRIVATE KEY" in line:
        raise Unfit(
            "key",
            Text(
                "this is a private key; keep it to yourself and paste the .pub file instead",
                "这是私钥，请勿外传；请粘贴 .pub 文件的内容",
            ),
        )
    words = line.strip().split(None, 2)
    if "\n" in line.strip() or len(words) < 2 or words[0] not in KINDS:
        raise _not_a_key()
    kind = words[0]
    try:
        blob = base64.b64decode(words[1], validate=True)
        fields = _fields(blob)
    except (binascii.Error, ValueError):
        raise _not_a_key() from None
    if fields[0] != kind.encode() or len(fields) < 2 or any(not field for field in fields[:2]):
        raise _not_a_key()
    if kind == "ssh-rsa":
        _long_enough(fields)
    return PublicKey(kind, blob, words[2].strip() if len(words) > 2 else "")


def _fields(blob: bytes) -> list[bytes]:
    """The length-prefixed fields of a key blob."""
    found, at = [], 0
    while at < len(blob):
        length = int.from_bytes(blob[at : at + 4], "big")
        field = blob[at + 4 : at + 4 + length]
        if len(blob) - at < 4 or len(field) != length:
            raise ValueError(at)
        found.append(field)
        at += 4 + length
    if not found:
        raise ValueError(at)
    return found


def _long_enough(fields: list[bytes]) -> None:
    bits = int.from_bytes(fields[-1], "big").bit_length() if len(fields) == 3 else 0
    if bits < SHORTEST_RSA:
        raise Unfit(
            "key",
            Text(
                f"an RSA key needs at least {SHORTEST_RSA} bits, this one has {bits}; "
                "make one with ssh-keygen -t ed25519",
                f"RSA 密钥至少需要 {SHORTEST_RSA} 位，此密钥为 {bits} 位；"
                "可用 ssh-keygen -t ed25519 生成",
            ),
        )


def _not_a_key() -> Unfit:
    return Unfit(
        "key",
        Text(
            "not a public SSH key; paste one line of ~/.ssh/id_ed25519.pub "
            f"(one of {', '.join(KINDS[:2])}, ssh-rsa, ...)",
            "不是 SSH 公钥；请粘贴 ~/.ssh/id_ed25519.pub 中的一行"
            f"（{'、'.join(KINDS[:2])}、ssh-rsa 等）",
        ),
    )


class SshKeys:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def of(self, who: Principal) -> list[SshKeyRow]:
        return await self._store.read(lambda tx: ssh_keys.of(tx, who.name))

    async def knows(self, name: str, fingerprint: str) -> bool:
        return await self._store.read(lambda tx: ssh_keys.has(tx, name, fingerprint))

    async def add(self, asks: Asker, line: str, label: str) -> SshKeyRow:
        if not rules.adds_ssh_keys(asks.who):
            raise NotAllowed(
                Text(
                    "A personal token cannot add SSH keys; sign in with your password (danlu "
                    "login)",
                    "个人令牌不能添加 SSH 密钥；请用密码登录（danlu login）",
                ),
            )
        key = parse(line)
        named = (label.strip() or key.comment)[:_LONGEST_LABEL]

        def op(tx: Tx) -> SshKeyRow:
            if ssh_keys.has(tx, asks.name, key.fingerprint):
                raise Clash("key_known", Text("You already have this key", "你已添加过此密钥"))
            if len(ssh_keys.of(tx, asks.name)) >= MOST:
                raise Crowded(MOST, Text("SSH keys", "SSH 密钥"))
            row = SshKeyRow(
                str(uuid.uuid4()), asks.name, named, key.fingerprint, key.line, time.time()
            )
            ssh_keys.add(tx, row)
            note(tx, asks, "ssh_key.added", key.fingerprint)
            return row

        return await self._store.write(op)

    async def remove(self, asks: Asker, id: str) -> SshKeyRow:
        def op(tx: Tx) -> SshKeyRow:
            found = next((row for row in ssh_keys.of(tx, asks.name) if row.id == id), None)
            if found is None:
                raise NotThere(Text("such SSH key", "这个 SSH 密钥"))
            ssh_keys.remove(tx, asks.name, id)
            note(tx, asks, "ssh_key.removed", found.fingerprint)
            return found

        return await self._store.write(op)
