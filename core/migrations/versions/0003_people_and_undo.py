"""Accounts, whether they are needed, what each action changed, and where the audit trail ends"""

import sqlalchemy as sa
from alembic import op

from core.tables.columns import UtcDateTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "person",
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("roles", sa.JSON(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("subject", sa.String(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("invited_by", sa.String(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("email"),
    )
    op.create_table(
        "access_mode",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("sign_in", sa.Boolean(), nullable=False),
        sa.Column("changed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    head = op.create_table(
        "audit_head",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "undone",
        sa.Column("entry_id", sa.Integer(), nullable=False),
        sa.Column("by_entry_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["audit_entry.id"]),
        sa.PrimaryKeyConstraint("entry_id"),
    )
    op.add_column("audit_entry", sa.Column("changes", sa.JSON(), nullable=True))
    connection = op.get_bind()
    count = connection.execute(sa.text("SELECT count(*) FROM audit_entry")).scalar_one()
    if count:
        last = connection.execute(sa.text("SELECT digest FROM audit_entry ORDER BY id DESC LIMIT 1")).scalar_one()
        op.bulk_insert(head, [{"name": "audit", "entries": count, "digest": last}])


def downgrade() -> None:
    op.drop_column("audit_entry", "changes")
    for name in ("undone", "audit_head", "access_mode", "person"):
        op.drop_table(name)
