"""Where tasks come from: the protocol, the bundled worlds, recorded episodes, a person's own."""
