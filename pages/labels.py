"""Names that people read for the values that the database holds; translated where they are shown."""

from collections.abc import Mapping

from core.i18n import Translator, mark
from core.people.names import RULE_STATE_NAMES, TIER_NAMES
from core.views.names import ARM_NAMES

ARMS = ARM_NAMES
STATES = RULE_STATE_NAMES
STATE_LOOKS = {
    "candidate": ("blue", ":material/science:"),
    "active": ("green", ":material/check_circle:"),
    "probation": ("orange", ":material/hourglass_top:"),
    "archived": ("gray", ":material/inventory_2:"),
}
GRADES = {"pass": mark("Pass"), "marginal": mark("Marginal"), "fail": mark("Fail")}
GRADE_LOOKS = {
    "pass": ("green", ":material/check:"),
    "marginal": ("orange", ":material/remove:"),
    "fail": ("red", ":material/close:"),
}
VERDICTS = {
    "improved": mark("Improved: the interval lies above 0"),
    "probably_better": mark("Probably better: the mean is above 0, with too few tasks to be sure"),
    "not_better": mark("Not better"),
    "worse": mark("Worse: the interval lies below 0"),
    "too_few": mark("Too few held-out tasks for a verdict"),
    "no_change": mark("The round changed nothing in the library"),
    "untested": mark("Untested: these episodes cannot be rolled out again"),
}
ROUND_STATUS = {
    "running": mark("At work"),
    "committed": mark("Committed"),
    "rolled_back": mark("Rolled back"),
    "untested": mark("Untested"),
    "failed": mark("Failed"),
}
ROUND_LOOKS = {
    "running": ("blue", ":material/autorenew:"),
    "committed": ("green", ":material/check_circle:"),
    "rolled_back": ("orange", ":material/undo:"),
    "untested": ("gray", ":material/help:"),
    "failed": ("red", ":material/error:"),
}
PHASES = {
    "planned": mark("planned"),
    "rolled_out": mark("rolled out"),
    "reflected": mark("reflected"),
    "judged": mark("judged"),
    "settled": mark("settled"),
    "gated": mark("tested"),
    "measured": mark("measured"),
    "finished": mark("finished"),
}
TIERS = TIER_NAMES
TIER_LOOKS = {
    "hot": ("red", ":material/local_fire_department:"),
    "warm": ("orange", ":material/wb_sunny:"),
    "cold": ("blue", ":material/ac_unit:"),
}
MEMORY_OUTCOMES = {"success": mark("Success"), "partial": mark("Partial success"), "failure": mark("Failure")}
POLICY_PHASES = {
    "static": mark("static"),
    "recall": mark("recall"),
    "reward": mark("reward"),
    "adapt": mark("adapt"),
}
POLICY_EVENTS = {
    "updated": mark("Updated"),
    "evaluated": mark("Evaluated"),
    "restored": mark("Restored"),
}
POLICY_EVENT_LOOKS = {
    "updated": ("blue", ":material/model_training:"),
    "evaluated": ("gray", ":material/fact_check:"),
    "restored": ("orange", ":material/history:"),
}
POLICY_VERDICTS = {
    "better": mark("Better: it is the good one now"),
    "same": mark("As good as the good one"),
    "worse": mark("Worse than the good one"),
    "restore": mark("Worse once too often: the good one was restored"),
}
TRIGGERS = {
    "episodes": mark("enough new episodes"),
    "success_rate": mark("success fell below its threshold"),
    "schedule": mark("on its own"),
    "step": mark("asked for one round"),
    "command": mark("from the command line"),
}
ACTIVITIES = {
    "resting": mark("Waiting for work"),
    "paused": mark("Resting"),
    "command line": mark("Working from the command line"),
    "learn": mark("Rolling out training tasks"),
    "before": mark("Testing the library before the round"),
    "after": mark("Testing the changed library"),
    "second": mark("Testing once more without the blamed changes"),
    "repeat": mark("Measuring the noise floor"),
    "empty": mark("Testing the empty library"),
    "empty_repeat": mark("Measuring the noise floor of the empty library"),
    "random": mark("Testing random rules"),
    "planned": mark("Choosing tasks"),
    "rolled_out": mark("Rolling out tasks"),
    "reflected": mark("Reflecting on episodes"),
    "judged": mark("Judging compliance"),
    "rewarded": mark("Working out rewards"),
    "settled": mark("Settling the library"),
    "gated": mark("Testing on held-out tasks"),
    "measured": mark("Measuring the gain"),
    "finished": mark("Finishing the round"),
}
LOOP_STATUS = {
    "running": mark("Running"),
    "slow": mark("Slow to answer"),
    "paused": mark("Paused"),
    "stopped": mark("Stopped"),
}
LOOP_LOOKS = {
    "running": ("green", ":material/play_circle:"),
    "slow": ("orange", ":material/hourglass_top:"),
    "paused": ("blue", ":material/pause_circle:"),
    "stopped": ("red", ":material/stop_circle:"),
}
METRICS = {
    "success_rate": mark("Task success rate"),
    "mean_turns": mark("Mean turns"),
    "tool_error_rate": mark("Tool-call error rate"),
    "compliance_rate": mark("Rule-compliance rate"),
}
ORIGINS = {
    "reflection": mark("From reflection"),
    "handbook": mark("From a handbook"),
    "merge": mark("From a merge"),
    "human": mark("Written by a person"),
    "import": mark("Imported"),
}
EVENTS = {
    "created": mark("Created"),
    "edited": mark("Edited"),
    "approved": mark("Approved"),
    "voted": mark("Voted on"),
    "verified": mark("Verified"),
    "person": mark("Decided by a person"),
    "policy": mark("Refused by a policy"),
    "quarantined": mark("Quarantined"),
    "harmful": mark("Harmful"),
    "unretrieved": mark("Never asked for"),
    "trimmed": mark("Trimmed by the token budget"),
    "lost_conflict": mark("The other side of a conflict was kept"),
    "recovered": mark("Recovered"),
    "reentered": mark("Came back from the archive"),
    "no_recovery": mark("On probation for too long"),
    "merged": mark("Merged"),
    "unmerged": mark("Merge taken back"),
    "pruned": mark("Pruned"),
    "gate": mark("Taken back after the held-out test"),
    "rewound": mark("Rewound"),
    "undone": mark("Taken back"),
    "pinned": mark("Pinned"),
    "unpinned": mark("Pin taken away"),
}
DISPOSITIONS = {
    "served": mark("In the prompt"),
    "left_out": mark("Left out by chance"),
    "trimmed": mark("Trimmed by the token budget"),
}
COMPLIANCE = {
    "complied": mark("Followed"),
    "violated": mark("Not followed"),
    "not_applicable": mark("Did not apply"),
    "unjudged": mark("Not judged"),
}
COMPLIANCE_LOOKS = {
    "complied": ("green", ":material/check:"),
    "violated": ("red", ":material/close:"),
    "not_applicable": ("gray", ":material/remove:"),
    "unjudged": ("gray", ":material/help:"),
}
ROLES = {
    "system": mark("System prompt"),
    "user": mark("Task"),
    "assistant": mark("Agent"),
    "tool": mark("Tool result"),
}
PURPOSES = {
    "act": mark("Acting"),
    "digest": mark("Digests"),
    "reflect": mark("Reflection"),
    "judge": mark("Judging"),
}
OUTCOMES = {
    "ok": mark("Answered"),
    "valid": mark("Answered"),
    "invalid": mark("Not of the shape asked for"),
    "reask": mark("Answered when asked again"),
    "repaired": mark("Answered, put right"),
    "unusable": mark("Not usable"),
    "empty": mark("Empty"),
    "rate_limited": mark("Refused for the moment"),
    "timeout": mark("No answer in time"),
    "connection_error": mark("No connection"),
    "server_error": mark("The endpoint broke down"),
    "unauthorized": mark("Key refused"),
    "bad_request": mark("Request refused"),
}
TROUBLES = {
    "over_fitting": mark("Over-fitting: what is learned does not carry over"),
    "prompt_limit": mark("The prompt keeps hitting its limit"),
    "ignored_rules": mark("Rules are not followed"),
    "empty_talk": mark("Reflection is empty talk"),
    "over_plan": mark("Spend is over plan"),
    "failing_type": mark("The same type keeps failing"),
    "rules_fight": mark("Rules fight"),
    "bloat": mark("Bloat: more rules, a smaller share that helps"),
    "conflict_variance": mark("The same type goes well, then badly, then well"),
    "ossification": mark("Ossification: no new rule gets shown"),
}
DIGEST_HEADINGS = {
    "TASK": mark("Task"),
    "OUTCOME": mark("Outcome"),
    "STEPS": mark("Steps"),
    "EXPECTED": mark("Outcome against expectation"),
}
FIELDS = {
    "name": mark("Name"),
    "condition": mark("When"),
    "action": mark("Do"),
    "exclusion": mark("Except when"),
    "rationale": mark("Why"),
    "domain": mark("Domain"),
    "tags": mark("Tags"),
    "priority": mark("Priority"),
    "confidence": mark("Confidence"),
}
GROUPS = {
    "agent": mark("Agent"),
    "rules": mark("Rules"),
    "lifecycle": mark("Lifecycle"),
    "utility": mark("Utility"),
    "retrieval": mark("Retrieval"),
    "round": mark("Round"),
    "memory": mark("Memory"),
    "policy": mark("Policy"),
    "gate": mark("Gate"),
    "review": mark("Review"),
    "budget": mark("Budget"),
}
DETECTORS = {
    "lexicon": mark("Opposing wording"),
    "polarity": mark("Same condition, opposite action"),
    "model": mark("Judged by the model"),
    "length": mark("Length"),
    "unfinished": mark("Breaks off"),
    "too_long": mark("Too long"),
    "empty": mark("Something is missing"),
    "vacuous": mark("Empty talk"),
    "single_case": mark("Tied to one case"),
    "secret": mark("Secrets or personal data"),
    "injection": mark("Planted instruction"),
    "hidden": mark("Hidden characters"),
    "confidence": mark("Confidence"),
    "refused_before": mark("Refused before"),
    "changed_meanwhile": mark("Changed meanwhile"),
}


def label(t: Translator, names: Mapping[str, str], value: str | None) -> str:
    """Name a value in the visitor's language; a value without a name is shown as it is."""
    return "–" if not value else t(names.get(value, value))


FATES = {
    "served": mark("In the prompt"),
    "trimmed": mark("Cut by the token budget"),
    "rank": mark("Others fit better"),
    "candidates": mark("Enough candidates are in it"),
    "mutex": mark("In conflict with a live or better fitting rule"),
    "priority": mark("A rule that goes before it is in the prompt"),
    "exclusion": mark("Its exclusion holds for this task"),
}
