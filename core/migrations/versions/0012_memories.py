"""Remembered decisions, what was shown of them, snapshots of the policy and what happened to it"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "memory",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("environment", sa.String(), nullable=False),
        sa.Column("episode_id", sa.String(), sa.ForeignKey("episode.id"), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("trust", sa.Float(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("arguments", sa.String(), nullable=False),
        sa.Column("result", sa.String(), nullable=False),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
        sa.Column("displeased", sa.Boolean(), nullable=False),
        sa.Column("latency_ms", sa.Float(), nullable=True),
        sa.Column("step_reward", sa.Float(), nullable=False),
        sa.Column("reward", sa.Float(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("gamma", sa.Float(), nullable=False),
        sa.Column("lesson", sa.String(), nullable=False),
        sa.Column("candidates", sa.JSON(), nullable=False),
        sa.Column("probability", sa.Float(), nullable=True),
        sa.Column("q", sa.Float(), nullable=False),
        sa.Column("q_updates", sa.Integer(), nullable=False),
        sa.Column("tier", sa.String(), nullable=False),
        sa.Column("covered_by", sa.Integer(), nullable=True),
        sa.Column("restored", sa.Boolean(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.Column("vector_model", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("touched", sa.Integer(), nullable=False),
        sa.UniqueConstraint("episode_id", "step"),
    )
    op.create_index("ix_memory_tier", "memory", ["environment", "tier", "created_at"])
    op.create_index("ix_memory_created", "memory", ["environment", "created_at"])
    op.create_index("ix_memory_touched", "memory", ["environment", "touched"])
    op.create_index("ix_memory_action", "memory", ["environment", "action", "created_at"])
    op.create_index("ix_memory_vector_model", "memory", ["environment", "vector_model"])
    op.create_table(
        "memory_use",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("episode_id", sa.String(), sa.ForeignKey("episode.id"), nullable=False),
        sa.Column("memory_id", sa.Integer(), sa.ForeignKey("memory.id"), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("similarity", sa.Float(), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("credited", sa.Boolean(), nullable=False),
        sa.Column("reward", sa.Float(), nullable=True),
        sa.Column("rate", sa.Float(), nullable=False),
        sa.UniqueConstraint("episode_id", "memory_id"),
    )
    op.create_index("ix_memory_use_memory", "memory_use", ["memory_id"])
    op.create_table(
        "policy_snapshot",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("environment", sa.String(), nullable=False),
        sa.Column("round_number", sa.Integer(), sa.ForeignKey("round.number"), nullable=True),
        sa.Column("updates", sa.Integer(), nullable=False),
        sa.Column("success", sa.Float(), nullable=True),
        sa.Column("turns", sa.Float(), nullable=True),
        sa.Column("tasks", sa.Integer(), nullable=False),
        sa.Column("good", sa.Boolean(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_policy_snapshot_environment", "policy_snapshot", ["environment", "id"])
    op.create_table(
        "policy_event",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("environment", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("round_number", sa.Integer(), nullable=True),
        sa.Column("snapshot_id", sa.Integer(), sa.ForeignKey("policy_snapshot.id"), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_policy_event_environment", "policy_event", ["environment", "id"])
    op.add_column("episode_reward", sa.Column("remembered", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index("ix_episode_reward_remembered", "episode_reward", ["remembered"])


def downgrade() -> None:
    op.drop_index("ix_episode_reward_remembered", "episode_reward")
    op.drop_column("episode_reward", "remembered")
    for table in ("policy_event", "policy_snapshot", "memory_use", "memory"):
        op.drop_table(table)
