"""Lists of episodes, rules that went live, and the days of the ledger are found without reading the rest"""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_NEW = {
    "ix_episode_started": ("episode", ["started_at"]),
    "ix_episode_arm_started": ("episode", ["arm", "started_at"]),
    "ix_episode_grade_started": ("episode", ["grade", "started_at"]),
    "ix_episode_environment_started": ("episode", ["environment", "started_at"]),
    "ix_episode_round_started": ("episode", ["round_number", "started_at"]),
    "ix_rule_event_state": ("rule_event", ["to_state", "rule_id"]),
    "ix_ledger_entry_paid": ("ledger_entry", ["created_at", "simulated", "cost_usd"]),
}
_OLD = {
    "ix_ledger_entry_created": ("ledger_entry", ["created_at"]),
    "ix_ledger_entry_round": ("ledger_entry", ["round_number"]),
}


def upgrade() -> None:
    for name, (table, columns) in _NEW.items():
        op.create_index(name, table, columns)
    for name, (table, _) in _OLD.items():
        op.drop_index(name, table)


def downgrade() -> None:
    for name, (table, columns) in _OLD.items():
        op.create_index(name, table, columns)
    for name, (table, _) in _NEW.items():
        op.drop_index(name, table)
