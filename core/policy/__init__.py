"""A policy without weights in the model: what experience says about the actions at hand (design section 10)."""
