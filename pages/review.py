"""Review: what waits for a person, one item at a time or many at once (design section 12)."""

import streamlit as st

from core.i18n import Translator
from core.views.review import proposal_item, rule_item
from core.views.review_queue import QueueItem
from pages.context import Context, context, translator
from pages.review_bulk import show_bulk
from pages.review_keys import show_keys
from pages.review_policies import show_policies
from pages.review_proposal import show_proposal
from pages.review_queue import choose, show_queue
from pages.review_rule import show_rule
from pages.widgets import show_notice


def _item(app: Context, t: Translator, item: QueueItem) -> None:
    with app.database.read() as session:
        rule = rule_item(session, item.id) if item.kind == "rule" else None
        proposal = proposal_item(session, item.id) if item.kind == "proposal" else None
    if rule is not None:
        show_rule(app, t, rule, item)
    elif proposal is not None:
        show_proposal(app, t, proposal, item)
    else:
        # It was decided after the queue was read; the next run reads the queue anew and goes on.
        st.toast(t("Somebody has just decided this item."), icon=":material/info:")
        st.rerun()


def _one_by_one(app: Context, t: Translator) -> None:
    show_keys(app, t)
    left, right = st.columns([2, 9])
    with left:
        item = show_queue(app, t, choose(app, t))
    with right:
        if item is not None:
            _item(app, t, item)


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("Review"), anchor=False)
    show_notice()
    ways = {"one": t("One by one"), "bulk": t("Many at once"), "policies": t("Policies")}
    way = st.segmented_control(
        t("How to review"),
        list(ways),
        format_func=ways.__getitem__,
        default="one",
        required=True,
        key="review_way",
        label_visibility="collapsed",
    )
    if way == "bulk":
        show_bulk(app, t)
    elif way == "policies":
        show_policies(app, t)
    else:
        _one_by_one(app, t)


main()
