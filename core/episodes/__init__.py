"""Episodes: rollout, grading, digests, import of recorded ones."""
