"""Episodic memory: the single decisions of graded episodes, kept, found again and put away (design section 9)."""
