"""Pins, saved views, the audit entry behind an event, and the order of long lists of rules"""

import sqlalchemy as sa
from alembic import op

from core.tables.columns import UtcDateTime

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rule_pin",
        sa.Column("rule_id", sa.String(), nullable=False),
        sa.Column("pinned_by", sa.String(), nullable=False),
        sa.Column("pinned_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["rule_id"], ["rule.id"]),
        sa.PrimaryKeyConstraint("rule_id"),
    )
    op.create_table(
        "saved_view",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("page", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("query", sa.JSON(), nullable=False),
        sa.Column("changed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_saved_view_owner", "saved_view", ["owner"])
    op.add_column("rule_event", sa.Column("entry_id", sa.Integer(), nullable=True))
    op.create_index("ix_rule_state_created", "rule", ["state", "created_at"])
    op.create_index("ix_rule_created", "rule", ["created_at"])
    op.create_index("ix_rule_used", "rule", ["n_used"])


def downgrade() -> None:
    for name in ("ix_rule_used", "ix_rule_created", "ix_rule_state_created"):
        op.drop_index(name, "rule")
    op.drop_column("rule_event", "entry_id")
    op.drop_index("ix_saved_view_owner", "saved_view")
    for name in ("saved_view", "rule_pin"):
        op.drop_table(name)
