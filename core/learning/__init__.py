"""The learning loop: the round and its steps, triggers, the lease and the thread."""
