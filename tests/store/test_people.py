"""Users, tokens, secrets and facts."""

from __future__ import annotations

import pytest

from danlu.store import Store, StoreConflict, Tx, meta, secrets, users
from danlu.store.rows import TokenRow, UserRow

ADMIN = UserRow("u1", "admin", "admin", "hash of a password", 1700000000.0, must_change=True)
TOKEN = TokenRow("t1", "u1", "hash of a token", "laptop", 1700000000.0, expires_at=1800000000.0)


@pytest.fixture
async def with_admin(store: Store) -> Store:
    def both(tx: Tx) -> None:
        users.insert_user(tx, ADMIN)
        users.insert_token(tx, TOKEN)

    await store.write(both)
    return store


async def test_a_user_is_found_by_name_and_id(with_admin: Store) -> None:
    assert await with_admin.read(lambda tx: users.get_user(tx, "admin")) == ADMIN
    assert await with_admin.read(lambda tx: users.get_user_by_id(tx, "u1")) == ADMIN
    assert await with_admin.read(lambda tx: users.get_user(tx, "eve")) is None
    assert await with_admin.read(users.list_users) == [ADMIN]


async def test_a_name_is_taken_once(with_admin: Store) -> None:
    twin = UserRow("u2", "admin", "user", "x", 0.0)
    with pytest.raises(StoreConflict):
        await with_admin.write(lambda tx: users.insert_user(tx, twin))


async def test_a_new_password_need_not_be_changed(with_admin: Store) -> None:
    assert await with_admin.write(lambda tx: users.set_password(tx, "u1", "new hash"))
    changed = await with_admin.read(lambda tx: users.get_user(tx, "admin"))
    assert changed is not None
    assert (changed.password_hash, changed.must_change) == ("new hash", False)
    assert not await with_admin.write(lambda tx: users.set_password(tx, "nobody", "x"))


async def test_a_token_leads_to_its_user_until_it_is_revoked(with_admin: Store) -> None:
    assert await with_admin.read(lambda tx: users.find_token(tx, TOKEN.hash)) == (TOKEN, ADMIN)
    assert await with_admin.read(lambda tx: users.find_token(tx, "another")) is None
    await with_admin.write(lambda tx: users.token_used(tx, "t1", 1700000005.0, 1900000000.0))
    (used,) = await with_admin.read(lambda tx: users.tokens_of(tx, "u1"))
    assert (used.last_used_at, used.expires_at) == (1700000005.0, 1900000000.0)
    assert await with_admin.write(lambda tx: users.revoke(tx, "t1"))
    assert not await with_admin.write(lambda tx: users.revoke(tx, "t1"))
    assert await with_admin.read(lambda tx: users.find_token(tx, TOKEN.hash)) is None


async def test_all_tokens_of_a_user_can_be_revoked_at_once(with_admin: Store) -> None:
    assert await with_admin.write(lambda tx: users.revoke_all(tx, "u1")) == 1
    assert await with_admin.read(lambda tx: users.tokens_of(tx, "u1")) == []


def test_no_hash_is_shown() -> None:
    assert ADMIN.password_hash not in repr(ADMIN)
    assert TOKEN.hash not in repr(TOKEN)


async def test_secrets_are_listed_by_name_and_removed(store: Store) -> None:
    def some(tx: Tx) -> None:
        secrets.put_secret(tx, "alice", "wandb", "k1")
        secrets.put_secret(tx, "alice", "hf", "k2")
        secrets.put_secret(tx, "bob", "wandb", "k3")

    await store.write(some)
    assert await store.read(lambda tx: secrets.list_secrets(tx, "alice")) == ["hf", "wandb"]
    assert await store.write(lambda tx: secrets.delete_secret(tx, "alice", "wandb"))
    assert not await store.write(lambda tx: secrets.delete_secret(tx, "alice", "wandb"))
    assert await store.read(lambda tx: secrets.get_secret(tx, "bob", "wandb")) == "k3"


async def test_the_first_value_of_a_fact_stays(store: Store) -> None:
    assert await store.write(lambda tx: meta.meta_once(tx, "instance", "one")) == "one"
    assert await store.write(lambda tx: meta.meta_once(tx, "instance", "two")) == "one"
    assert await store.read(lambda tx: meta.get_meta(tx, "instance")) == "one"
