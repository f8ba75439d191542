"""Rewards of episodes: three signals, and what people say afterwards"""

import sqlalchemy as sa
from alembic import op

from core.tables.columns import UtcDateTime

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "episode_reward",
        sa.Column("episode_id", sa.String(), nullable=False),
        sa.Column("rules", sa.String(), nullable=False),
        sa.Column("tools", sa.String(), nullable=False),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("judged_by", sa.String(), nullable=False),
        sa.Column("judge_reason", sa.String(), nullable=False),
        sa.Column("displeasure", sa.String(), nullable=False),
        sa.Column("taken_over", sa.Boolean(), nullable=False),
        sa.Column("feedback", sa.String(), nullable=False),
        sa.Column("feedback_reason", sa.String(), nullable=False),
        sa.Column("feedback_by", sa.String(), nullable=True),
        sa.Column("feedback_at", UtcDateTime(), nullable=True),
        sa.Column("recorded_reward", sa.Float(), nullable=False),
        sa.Column("recorded_grade", sa.String(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episode.id"]),
        sa.PrimaryKeyConstraint("episode_id"),
    )
    op.create_index("ix_episode_reward_feedback", "episode_reward", ["feedback_at"])


def downgrade() -> None:
    op.drop_table("episode_reward")
