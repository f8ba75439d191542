"""What Streamlit's shortcuts cannot do: "?", Ctrl+Enter within a field, and the cursor in the field a key opened."""

import streamlit as st

_NAME = "rulewright_keyboard"
_SCRIPT = """
const focused = new Set();
const typing = (element) => element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);

// The field may be drawn later than this component.
function focus(key, turn, tries) {
  if (focused.has(turn)) return;
  const field = document.querySelector(`.st-key-${CSS.escape(key)} :is(input, textarea)`);
  if (field) {
    focused.add(turn);
    field.focus();
  } else if (tries > 0) {
    setTimeout(() => focus(key, turn, tries - 1), 100);
  }
}

// A shortcut would send the form without the field that still has the cursor; both would send it twice.
function send(target) {
  target.blur();
  setTimeout(() => document.querySelector('[class*="st-key-review_"][class*="_save"] button')?.click(), 50);
}

export default function (component) {
  const { data, setTriggerValue } = component;
  const pressed = (event) => {
    const held = event.ctrlKey || event.metaKey;
    if (event.key === '?' && !held && !typing(event.target)) setTriggerValue('help', true);
    if (event.key === 'Enter' && held && typing(event.target)) {
      event.stopImmediatePropagation();
      send(event.target);
    }
  };
  document.addEventListener('keydown', pressed, true);
  if (data.field) focus(data.field, data.turn, 100);
  return () => document.removeEventListener('keydown', pressed, true);
}
"""


def listen(field: str = "", turn: str = "") -> bool:
    """Listen for "?" and say whether it was just pressed.

    Args:
        field: key of a text field that gets the cursor; '' for none.
        turn: tells one opening of the field from another, each of which gets the cursor once.
    """
    mount = st.components.v2.component(_NAME, js=_SCRIPT)
    found = mount(key="shell_keyboard", data={"field": field, "turn": turn}, on_help_change=_nothing, height=1)
    return bool(found.help)


def _nothing() -> None:
    """Streamlit reports only what somebody asks for."""
