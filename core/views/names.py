"""What arms and splits are called, on pages and in reports; translated when shown."""

from core.i18n import mark

ARM_NAMES = {
    "learn": mark("Training"),
    "external": mark("From outside"),
    "before": mark("Library before the round"),
    "after": mark("Library after the round"),
    "second": mark("Library after the round, blamed changes dropped"),
    "repeat": mark("Library before the round, again"),
    "empty": mark("Empty library"),
    "empty_repeat": mark("Empty library, again"),
    "random": mark("Random rules"),
}
SPLIT_NAMES = {"train": mark("Training tasks"), "held_out": mark("Held-out tasks")}
