"""Model calls name the reflection they were made for"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("ledger_entry") as table:
        table.add_column(sa.Column("reflection_id", sa.String(), nullable=True))
        table.create_index("ix_ledger_entry_reflection_id", ["reflection_id"])


def downgrade() -> None:
    with op.batch_alter_table("ledger_entry") as table:
        table.drop_index("ix_ledger_entry_reflection_id")
        table.drop_column("reflection_id")
