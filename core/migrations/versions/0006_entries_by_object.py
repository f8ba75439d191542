"""Entries of the audit trail are found by person, action, kind, time and by each object that they touched"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_INDEXES = {
    "actor": ["actor", "action", "id"],
    "action": ["action", "id"],
    "object_kind": ["object_kind", "id"],
    "created_at": ["created_at"],
}


def upgrade() -> None:
    table = op.create_table(
        "audit_object",
        sa.Column("object_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("entry_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["audit_entry.id"]),
        sa.PrimaryKeyConstraint("object_id", "kind", "entry_id"),
    )
    for first, columns in _INDEXES.items():
        op.create_index(f"ix_audit_entry_{first}", "audit_entry", columns)
    found = op.get_bind().execute(sa.text("SELECT id, object_kind, object_id, changes FROM audit_entry")).all()
    rows = set()
    for entry_id, kind, object_id, changes in found:
        given = json.loads(changes) if isinstance(changes, str) else changes
        rows.add((object_id, kind, entry_id))
        rows.update((str(change["key"]), change["table"], entry_id) for change in given or [])
    if rows:
        names = ("object_id", "kind", "entry_id")
        op.bulk_insert(table, [dict(zip(names, row, strict=True)) for row in sorted(rows)])


def downgrade() -> None:
    for first in _INDEXES:
        op.drop_index(f"ix_audit_entry_{first}", "audit_entry")
    op.drop_table("audit_object")
