"""Rules: library and lifecycle, utility, retrieval, prompt, quality, duplicates, conflicts, pruning."""
