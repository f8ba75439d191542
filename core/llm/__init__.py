"""Model calls: client, retries, ledger, prices, structured output, the simulated model."""
