"""Ten troubles of the learning loop, each with detector, evidence and remedy (design section 8)."""
