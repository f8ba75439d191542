"""How a conflict was settled and why, in which texts it was found, and the queue of open ones"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conflict", sa.Column("found_in", sa.String(), nullable=False, server_default=""))
    op.add_column("conflict", sa.Column("reason", sa.String(), nullable=False, server_default=""))
    op.add_column("conflict", sa.Column("entry_id", sa.Integer(), nullable=True))
    op.create_index("ix_conflict_rule_b", "conflict", ["rule_b"])
    op.create_index("ix_conflict_status", "conflict", ["status", "created_at", "id"])
    op.create_index("ix_rule_id_state", "rule", ["id", "state"])


def downgrade() -> None:
    op.drop_index("ix_rule_id_state", "rule")
    op.drop_index("ix_conflict_status", "conflict")
    op.drop_index("ix_conflict_rule_b", "conflict")
    for name in ("entry_id", "reason", "found_in"):
        op.drop_column("conflict", name)
