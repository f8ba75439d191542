"""Texts for the sample database: rules and tasks of an operations world."""

# (task type, name, condition, action, exclusion, rationale)
RULES: tuple[tuple[str, str, str, str, str, str], ...] = (
    (
        "pool_exhaustion",
        "Look for leaked connections before raising the pool",
        "Checkout waits climb while the database is idle",
        "Read idle-in-transaction sessions first; close the leaking service's sessions and restart it.",
        "when the database itself is at its CPU limit.",
        "Failing episodes raised the pool size, which moved the queue into the database.",
    ),
    (
        "cache_stampede",
        "Stagger expiry before adding cache nodes",
        "Misses spike at the same second on every node",
        "Set jittered expiry and request coalescing; leave the node count alone.",
        "",
        "Adding nodes cooled nothing: all keys expired together.",
    ),
    (
        "bad_deploy",
        "Compare the error onset with the deploy log",
        "Errors start within ten minutes of a deploy",
        "Roll back that deploy before touching configuration or capacity.",
        "when the deploy changed only documentation.",
        "Passing episodes rolled back at once; failing ones tuned time-outs for five turns.",
    ),
    (
        "dns_fault",
        "Resolve from inside the failing host",
        "Some hosts fail while others reach the same name",
        "Query the resolver from a failing host, then flush its negative cache.",
        "",
        "Restarts hid the fault until the cache filled again.",
    ),
    (
        "certificate",
        "Read the chain's dates, not only the leaf's",
        "TLS handshakes fail for old clients only",
        "Check the intermediate certificate's expiry and renew the whole chain.",
        "",
        "The leaf looked valid in every failing episode.",
    ),
    (
        "disk_full",
        "Find deleted files that are still open",
        "Disk usage stays high after files were removed",
        "List open deleted files and restart the process that holds them.",
        "when the volume is a read-only snapshot.",
        "Deleting more logs freed nothing.",
    ),
    (
        "quota",
        "Ask for the quota's window before retrying",
        "Calls are refused although usage looks low",
        "Read the per-minute window and spread the calls; do not raise the daily quota.",
        "",
        "Retries burnt the minute's quota again and again.",
    ),
    (
        "clock_skew",
        "Compare clocks before rotating keys",
        "Tokens are called expired the moment they are issued",
        "Compare host clocks and restart time sync on the one that drifts.",
        "when keys were rotated within the last hour.",
        "Rotating keys logged everyone out and fixed nothing.",
    ),
    (
        "slow_query",
        "Check the plan after statistics changed",
        "One query turned slow without a deploy",
        "Compare its plan with yesterday's and refresh statistics.",
        "",
        "An index added blindly slowed the writes down.",
    ),
    (
        "queue_backlog",
        "Find the poison message first",
        "Consumers restart in a loop and the queue grows",
        "Move the message at the head to the dead-letter queue, then let consumers drain.",
        "when the consumers were scaled down on purpose.",
        "More consumers only crashed faster.",
    ),
    (
        "memory_leak",
        "Take a heap profile before the restart",
        "Memory grows steadily between restarts",
        "Save a heap profile, restart one instance, then roll back the version that grew.",
        "",
        "A restart without a profile lost the evidence.",
    ),
    (
        "load_balancer",
        "Compare traffic per backend",
        "One backend is hot while the others idle",
        "Drain the hot backend and reset sticky sessions.",
        "when weights were set on purpose for a canary.",
        "Scaling out left the hot backend hot.",
    ),
)

QUERIES: dict[str, str] = {
    "pool_exhaustion": ("Checkout of connections takes 9 s in orders; the database sits at 12 % CPU. Restore it."),
    "cache_stampede": ("Every quarter of an hour the catalogue's latency jumps to 4 s. Find out why and stop it."),
    "bad_deploy": "The payments API answers 500 for one request in six since this morning. Restore it.",
    "dns_fault": "Three of eleven workers cannot reach search by name. Restore them.",
    "certificate": "Older mobile clients cannot connect since midnight; browsers can. Restore them.",
    "disk_full": ("The log volume of the gateway is at 97 % although old logs were deleted. Bring it below 70 %."),
    "quota": "The geocoding provider refuses calls although the day's usage is at 8 %. Restore the import.",
    "clock_skew": "Users are signed out seconds after they sign in, on some hosts only. Restore sign-in.",
    "slow_query": "The report page went from 300 ms to 20 s overnight. Restore it.",
    "queue_backlog": "The mail queue holds 40,000 messages and grows. Drain it.",
    "memory_leak": "The recommender is killed every six hours for lack of memory. Make it stay up.",
    "load_balancer": "One of five web backends is at 100 % CPU, the others at 15 %. Even it out.",
}

TRAJECTORY: tuple[tuple[str, str, str], ...] = (
    (
        "Latency first: which percentile moved, and since when?",
        "read_metrics",
        '{"service": "orders", "metric": "latency_p95", "minutes": 60}',
    ),
    (
        "The rise starts at 09:42. What was deployed around then?",
        "list_deploys",
        '{"service": "orders", "hours": 6}',
    ),
    (
        "No deploy. I look at the sessions of the pool.",
        "read_sessions",
        '{"service": "orders", "state": "idle in transaction"}',
    ),
    (
        "Forty sessions idle in transaction belong to the exporter; I close them and restart it.",
        "apply_remedy",
        '{"remedy": "restart_service", "service": "exporter"}',
    ),
)

RESULTS: tuple[str, ...] = (
    "latency_p95 ms: 09:30 210, 09:40 230, 09:45 4100, 10:00 9050, 10:15 9120",
    "no deploys of orders in the last 6 h",
    "42 sessions idle in transaction; 40 of client exporter, oldest since 09:41",
    "exporter restarted; sessions idle in transaction: 0; latency_p95 ms: 240",
)
