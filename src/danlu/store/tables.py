"""The tables. The migrations create the same ones; a test compares them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

ACTIVE = "state IN ('queued', 'starting', 'running', 'stopping')"
"""Identical in the partial indexes and the queries, so that both databases use the indexes."""

metadata = MetaData()

# In SQLite only "INTEGER PRIMARY KEY" makes it the rowid, without a second tree.
_Key = BigInteger().with_variant(Integer, "sqlite")


def _only(condition: str) -> dict[str, str]:
    """The condition of a partial index. Given per dialect, it would load both dialects."""
    return {"where": condition}


jobs = Table(
    "jobs",
    metadata,
    Column("seq", _Key, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("array_id", Text),
    Column("array_index", BigInteger),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text),
    Column("queue", Text, nullable=False),
    Column("group", Text),
    Column("priority", BigInteger, nullable=False),
    Column("submitted_at", Double, nullable=False),
    Column("started_at", Double),
    Column("ended_at", Double),
    Column("exit_code", BigInteger),
    Column("attempt", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),
    Column("faults", BigInteger, nullable=False),
    Column("held", Boolean, nullable=False),
    Column("detail", Text, nullable=False),
    Column("spec", Text, nullable=False),
    UniqueConstraint("id", name="jobs_id"),
    # An expression, because NULLs count as distinct in a unique index.
    Index(
        "jobs_ref",
        text("owner"),
        text("name"),
        text("number"),
        text("coalesce(array_index, -1)"),
        unique=True,
    ),
    Index("jobs_name", "name", "number"),
    Index("jobs_owner", "owner", "seq"),
    Index("jobs_state", "state", "seq"),
    Index("jobs_group", "group", "seq", info=_only('"group" IS NOT NULL')),
    Index("jobs_active", "seq", info=_only(ACTIVE)),
    Index("jobs_array", "array_id", info=_only("array_id IS NOT NULL")),
)

# The spec of an array, by `jobs.array_id`; `jobs.spec` of its elements is empty.
specs = Table(
    "specs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("spec", Text, nullable=False),
)

attempts = Table(
    "attempts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("job_id", Text, ForeignKey("jobs.id", name="attempts_job"), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("reason", Text),
    Column("started_at", Double),
    Column("ended_at", Double),
    Column("places", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("stop", Text),
    Column("tasks", Text, nullable=False),
    Column("handle", Text, nullable=False, server_default=text("''")),
    Column("installation", Text, nullable=False, server_default=text("''")),
    Column("engine", Text, nullable=False, server_default=text("''")),
    UniqueConstraint("job_id", "number", name="attempts_number"),
    Index("attempts_active", "created_at", info=_only(ACTIVE)),
)

# No foreign key: events outlive the job's row.
events = Table(
    "events",
    metadata,
    Column("seq", _Key, primary_key=True, autoincrement=False),
    Column("job_id", Text),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("data", Text, nullable=False),
    Index("events_job", "job_id", "seq"),
)

# Never deleted: names and uids are not reused.
users = Table(
    "users",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("password_hash", Text, nullable=False),
    Column("must_change", Boolean, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("status", Text, nullable=False, server_default=text("'active'")),
    Column("full_name", Text, nullable=False, server_default=text("''")),
    Column("uid", BigInteger),
    Column("gid", BigInteger),
    UniqueConstraint("name", name="users_name"),
    Index("users_uid", "uid", unique=True),
)

groups = Table(
    "groups",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("gid", BigInteger),
    Column("created_at", Double, nullable=False),
    Column("note", Text, nullable=False),
    Column("status", Text, nullable=False),
    UniqueConstraint("name", name="groups_name"),
    Index("groups_gid", "gid", unique=True),
)

members = Table(
    "members",
    metadata,
    Column("user_id", Text, ForeignKey("users.id", name="members_user"), primary_key=True),
    Column("group_id", Text, ForeignKey("groups.id", name="members_group"), primary_key=True),
    Column("leader", Boolean, nullable=False),
    Column("joined_at", Double, nullable=False),
    Index("members_group_id", "group_id"),
)

# Separate from `users`, because a declined request leaves its name free.
requests = Table(
    "requests",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("full_name", Text, nullable=False),
    Column("password_hash", Text, nullable=False),
    Column("group", Text),  # as requested: strangers do not learn which groups exist
    Column("note", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("address", Text, nullable=False),
    UniqueConstraint("name", name="requests_name"),
)

invites = Table(
    "invites",
    metadata,
    Column("id", Text, primary_key=True),
    Column("hash", Text, nullable=False),
    Column("hint", Text, nullable=False),
    Column("group_id", Text, ForeignKey("groups.id", name="invites_group")),
    Column("created_by", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("uses", BigInteger, nullable=False),
    Column("used", BigInteger, nullable=False),
    Column("note", Text, nullable=False),
    UniqueConstraint("hash", name="invites_hash"),
)

# No foreign key: the log outlives the people in it.
audit = Table(
    "audit",
    metadata,
    Column("seq", _Key, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("actor", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("thing", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("address", Text, nullable=False),
    Index("audit_actor", "actor", "seq"),
    Index("audit_thing", "thing", "seq"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column(
        "user_id",
        Text,
        ForeignKey("users.id", name="tokens_user", ondelete="CASCADE"),
        nullable=False,
    ),
    Column("hash", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("last_used_at", Double),
    Column("scope", Text, nullable=False, server_default=text("'all'")),
    Column("kind", Text, nullable=False, server_default=text("'session'")),
    Column("address", Text, nullable=False, server_default=text("''")),
    UniqueConstraint("hash", name="tokens_hash"),
    Index("tokens_user_id", "user_id"),
)

# What a browser shows at the door of a job. It ends with the sign-in it came from.
door_tokens = Table(
    "door_tokens",
    metadata,
    Column("hash", Text, primary_key=True),
    Column(
        "token_id",
        Text,
        ForeignKey("tokens.id", name="door_tokens_token", ondelete="CASCADE"),
        nullable=False,
    ),
    Column("user_id", Text, nullable=False),
    Column("job_id", Text, nullable=False),
    Column("task", BigInteger, nullable=False),
    Column("target", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Index("door_tokens_token_id", "token_id"),
    Index("door_tokens_user_id", "user_id"),
)

secrets = Table(
    "secrets",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Column("updated_at", Double, nullable=False),
)

# Replaced and deleted values, which logs still contain.
old_secrets = Table(
    "old_secrets",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("retired_at", Double, primary_key=True),
    Column("value", Text, nullable=False),
)

# Public keys only, for signing in over SSH.
ssh_keys = Table(
    "ssh_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("line", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    UniqueConstraint("owner", "fingerprint", name="ssh_keys_owner_fingerprint"),
    Index("ssh_keys_owner", "owner"),
)

# What people keep and start again; what runs of it is a job.
environments = Table(
    "environments",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("request", Text, nullable=False),
    Column("shared", Text, nullable=False),
    Column("job_id", Text),
    Column("saved_image", Text),
    UniqueConstraint("owner", "name", name="environments_name"),
    Index("environments_job", "job_id"),
)

# Folders that people brought along; their files are in the data folder, by owner.
bundles = Table(
    "bundles",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Column("files", BigInteger, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("used_at", Double, nullable=False),
)

# How much is stored for each owner.
bundle_stores = Table(
    "bundle_stores",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Column("counted_at", Double, nullable=False),
)

# Working folders made from bundles, until they hold only what their job wrote.
bundle_folders = Table(
    "bundle_folders",
    metadata,
    Column("job_id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("bundle", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("made_at", Double, nullable=False),
)

datasets = Table(
    "datasets",
    metadata,
    Column("name", Text, primary_key=True),
    Column("volume", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("everywhere", Boolean, nullable=False),
    Column("title", Text, nullable=False),
    Column("licence", Text, nullable=False),
    Column("how", Text, nullable=False),
    Column("keeper", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("bytes", BigInteger),
    Column("files", BigInteger),
    Column("fingerprint", Text, nullable=False),
    Column("measured_at", Double),
    Column("proposed_by", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("decided_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("decided_at", Double),
)

# Copies of datasets on the fast volumes of nodes.
dataset_copies = Table(
    "dataset_copies",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("node", Text, primary_key=True),
    Column("volume", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("used_at", Double),
    Column("detail_en", Text, nullable=False),
    Column("detail_zh", Text, nullable=False),
)

# As last measured, in bytes per second.
volume_speeds = Table(
    "volume_speeds",
    metadata,
    Column("volume", Text, primary_key=True),
    Column("read", Double),
    Column("write", Double),
    Column("detail", Text, nullable=False),
    Column("measured_at", Double, nullable=False),
)

# When an image was last used: no runtime remembers.
image_uses = Table(
    "image_uses",
    metadata,
    Column("runtime", Text, primary_key=True),
    Column("image", Text, primary_key=True),
    Column("used_at", Double, nullable=False),
)

# As last counted.
folder_sizes = Table(
    "folder_sizes",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Column("files", BigInteger, nullable=False),
    Column("counted_at", Double, nullable=False),
)

# How much people and groups may keep in their folders; no bytes: without a limit.
folder_quotas = Table(
    "folder_quotas",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("bytes", BigInteger),
    Column("at", Double, nullable=False),
)

# Storage of their own that people asked for.
storage_requests = Table(
    "storage_requests",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("options", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("decided_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
)

# Volumes declared by command; those in danlu.toml are not stored here.
volumes = Table(
    "volumes",
    metadata,
    Column("name", Text, primary_key=True),
    Column("source", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("read_only", Boolean, nullable=False),
    Column("everywhere", Boolean, nullable=False),
    Column("groups", Text, nullable=False),
    Column("users", Text, nullable=False),
    Column("nodes", Text, nullable=False),
    Column("tier", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("created_at", Double, nullable=False),
)

# Queues, quotas and drained nodes set by command; those in danlu.toml are not stored here.
rules = Table(
    "rules",
    metadata,
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("at", Double, nullable=False),
    PrimaryKeyConstraint("kind", "name", name="rules_pkey"),
)

# Every uid and gid ever assigned: files on some disk may carry it forever.
uids = Table(
    "uids",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("holder", Text, nullable=False),
    Column("at", Double, nullable=False),
    Index("uids_holder", "holder"),
)

# With whom repositories of the registry are shared: a user, a group, or everybody.
image_shares = Table(
    "image_shares",
    metadata,
    Column("repository", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("created_at", Double, nullable=False),
    Column("created_by", Text, nullable=False),
)

# Images that people can choose; `shares` of those in the registry are in image_shares.
images = Table(
    "images",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("ready", Boolean, nullable=False),
    Column("source", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("proposal", Text, nullable=False),
    Column("proposal_note", Text, nullable=False),
    Column("inside", Text, nullable=False),
    Column("decided_by", Text, nullable=False, server_default=""),
    Column("decided_at", Double),
    UniqueConstraint("owner", "name", name="images_name"),
)

# What was tried in an image: the latest result of each check for each digest.
image_checks = Table(
    "image_checks",
    metadata,
    Column("image", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("check", Text, primary_key=True),
    Column("result", Text, nullable=False),
    Column("detail_en", Text, nullable=False),
    Column("detail_zh", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("job", Text, nullable=False),
)

# Containers being saved as images, and what became of them.
image_saves = Table(
    "image_saves",
    metadata,
    Column("id", Text, primary_key=True),
    Column("job_id", Text, nullable=False),
    Column("job", Text, nullable=False),
    Column("attempt_id", Text, nullable=False),
    Column("task", Integer, nullable=False),
    Column("environment", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("image", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("stop", Boolean, nullable=False),
    Column("state", Text, nullable=False),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("digest", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("error_en", Text, nullable=False),
    Column("error_zh", Text, nullable=False),
    Index("image_saves_owner", "owner", "created_at"),
)

# Where the registry has a sequence of layers, so that nobody sends them again.
image_chains = Table(
    "image_chains",
    metadata,
    Column("chain", Text, primary_key=True),
    Column("repository", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("at", Double, nullable=False),
)

# Packages found in a layer, which never changes.
image_layers = Table(
    "image_layers",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("packages", Text, nullable=False),
    Column("at", Double, nullable=False),
)

meta = Table(
    "meta",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

# One row. Every write transaction locks it first, so all commits of all servers have one order.
leader = Table(
    "leader",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False),
    Column("holder", Text, nullable=False),
    Column("at", Double, nullable=False),
    CheckConstraint("id = 1", name="leader_one_row"),
)

# One row per writer: its last committed transaction.
batches = Table(
    "batches",
    metadata,
    Column("writer", Text, primary_key=True),
    Column("token", BigInteger, nullable=False),
    Column("at", Double, nullable=False),
)

# Alembic's own table, exactly as it would create it.
version = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def _append_only(table: str) -> dict[str, tuple[str, ...]]:
    refuse = f"{table} are append-only" if table.endswith("s") else f"{table} is append-only"
    return {
        "sqlite": tuple(
            f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{refuse}'); END"
            for change in ("UPDATE", "DELETE")
        ),
        "postgresql": (
            f"CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{refuse}' USING ERRCODE = '23514'; END $$",
            f"CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table} "
            f"FOR EACH ROW EXECUTE FUNCTION {table}_refuse()",
            f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_refuse()",
        ),
    }


APPEND_ONLY = {
    dialect: _append_only("events")[dialect] + _append_only("audit")[dialect]
    for dialect in ("sqlite", "postgresql")
}
FIRST_LEADER = "INSERT INTO leader (id, epoch, holder, at) VALUES (1, 0, '', 0)"
