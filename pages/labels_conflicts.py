"""Names of the ways to settle a conflict, and what each comes to."""

from core.i18n import mark

WAYS = {
    "keep": mark("One was kept"),
    "priority": mark("One goes first"),
    "narrowed": mark("Conditions narrowed"),
    "merged": mark("Made into one rule"),
    "not_a_conflict": mark("Not a conflict"),
    "text_changed": mark("Gone with a change of text"),
}
"""How a settled conflict was settled."""

CHOICES = {
    "keep": mark("Keep one"),
    "priority": mark("One goes first"),
    "narrowed": mark("Narrow both"),
    "merged": mark("Make one rule of both"),
    "not_a_conflict": mark("Not a conflict"),
}
"""What a person can choose."""

EXPLAINED = {
    "keep": mark(
        "The other rule goes on probation if it is live, else to the archive. It does not come back by itself "
        "while the one you keep is in use."
    ),
    "priority": mark(
        "Both stay in use. Where both fit a task, the prompt carries the first; the other one is served only "
        "where the first is not."
    ),
    "narrowed": mark(
        "Edit when each rule applies until they do not meet any more, for example by naming the case of one in "
        "the exclusion of the other. If the detectors still see a contradiction, nothing is changed."
    ),
    "merged": mark(
        "Both go to the archive as parts of a new rule, which takes over what they have counted. It can be taken "
        "apart again. The text below is a draft: read it, shorten it."
    ),
    "not_a_conflict": mark("Both stay as they are, a prompt may carry both, and the pair is never brought up again."),
}
"""What each choice does."""
