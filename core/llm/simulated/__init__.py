"""The stand-in model that answers when there is no key. It imports nothing of the environments."""
