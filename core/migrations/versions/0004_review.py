"""Claims, assignments, second opinions, wishes for evidence, drafts and policies of the review"""

import sqlalchemy as sa
from alembic import op

from core.tables.columns import UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "claim",
        sa.Column("item_id", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("item_id"),
    )
    op.create_table(
        "assignment",
        sa.Column("item_id", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("assigned_by", sa.String(), nullable=False),
        sa.Column("assigned_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("item_id"),
    )
    op.create_table(
        "approval",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("item_id", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_approval_item", "approval", ["item_id"])
    op.create_index("ix_approval_actor", "approval", ["actor"])
    op.create_table(
        "evidence_wish",
        sa.Column("rule_id", sa.String(), nullable=False),
        sa.Column("until_verified", sa.Integer(), nullable=True),
        sa.Column("until_round", sa.Integer(), nullable=True),
        sa.Column("asked_by", sa.String(), nullable=False),
        sa.Column("asked_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["rule_id"], ["rule.id"]),
        sa.PrimaryKeyConstraint("rule_id"),
    )
    op.create_table(
        "review_draft",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("item_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("seen", sa.JSON(), nullable=False),
        sa.Column("saved_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "policy",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("min_confidence", sa.Float(), nullable=False),
        sa.Column("max_confidence", sa.Float(), nullable=False),
        sa.Column("decision", sa.String(), nullable=False),
        sa.Column("changed_by", sa.String(), nullable=False),
        sa.Column("changed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_rule_waiting", "rule", ["state", "approved_by", "created_at", "id"])
    op.create_index("ix_proposal_waiting", "proposal", ["status", "created_at", "id"])
    op.create_index("ix_rule_event_kind", "rule_event", ["kind", "created_at"])
    op.create_index("ix_audit_entry_newest", "audit_entry", ["actor", "id"])


def downgrade() -> None:
    op.drop_index("ix_audit_entry_newest", "audit_entry")
    op.drop_index("ix_rule_event_kind", "rule_event")
    op.drop_index("ix_proposal_waiting", "proposal")
    op.drop_index("ix_rule_waiting", "rule")
    for name in ("policy", "review_draft", "evidence_wish", "approval", "assignment", "claim"):
        op.drop_table(name)
