"""What Streamlit's shortcuts cannot do: the key "?", and putting the cursor into the field that a key opened."""

import streamlit as st

_NAME = "rulewright_keyboard"
_SCRIPT = """
const focused = new Set();
export default function (component) {
  const { data, setTriggerValue } = component;
  const typing = (element) => element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);
  const pressed = (event) => {
    if (event.key === '?' && !event.ctrlKey && !event.metaKey && !typing(event.target)) {
      setTriggerValue('help', true);
    }
  };
  document.addEventListener('keydown', pressed);
  if (data.field && !focused.has(data.turn)) {
    const field = document.querySelector(`.st-key-${CSS.escape(data.field)} :is(input, textarea)`);
    if (field) {
      focused.add(data.turn);
      field.focus();
    }
  }
  return () => document.removeEventListener('keydown', pressed);
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
