"""The frame round every page: language, navigation, the badge of the simulated model."""

import streamlit as st
from streamlit.delta_generator_singletons import context_dg_stack, get_default_dg_stack_value

from core.errors import UserError
from core.i18n import LANGUAGES, Translator
from core.people.accounts import Account
from core.people.permissions import Action
from core.views.conflicts import MANY, open_count
from core.views.review_queue import queue
from pages.context import Context, can, context, keep_address, keep_language, translator, visitor_language
from pages.sign_in import admit, who


def _language_changed() -> None:
    keep_language(st.session_state["shell_choice"])


def _choose_language(t: Translator) -> None:
    st.session_state["shell_choice"] = t.language
    st.segmented_control(
        t("Language"),
        list(LANGUAGES),
        format_func=lambda code: LANGUAGES[code],
        required=True,
        key="shell_choice",
        on_change=_language_changed,
        width="stretch",
    )


def _navigation(app: Context, t: Translator) -> st.Page:
    with app.database.read() as session:
        waiting = queue(session, limit=1).total
        contradicting = open_count(session)
    review = t("Review ({n})", n=t.number(waiting)) if waiting else t("Review")
    shown = t.number(contradicting) + ("+" if contradicting >= MANY else "")
    conflicts = t("Conflicts ({n})", n=shown) if contradicting else t("Conflicts")
    pages = [
        st.Page("overview.py", title=t("Overview"), icon=":material/monitoring:", default=True),
        st.Page("review.py", title=review, icon=":material/fact_check:"),
        st.Page("conflicts.py", title=conflicts, icon=":material/compare_arrows:"),
        st.Page("library.py", title=t("Library"), icon=":material/library_books:"),
        st.Page("preview.py", title=t("Preview"), icon=":material/preview:"),
        st.Page("memory_policy.py", title=t("Memory and policy"), icon=":material/psychology:"),
        st.Page("episodes.py", title=t("Episodes"), icon=":material/forum:"),
        st.Page("provenance.py", title=t("Provenance"), icon=":material/account_tree:"),
        st.Page("diagnostics.py", title=t("Diagnostics"), icon=":material/troubleshoot:"),
        st.Page("spend.py", title=t("Spend"), icon=":material/payments:"),
        st.Page("loop.py", title=t("Loop"), icon=":material/autorenew:"),
        st.Page("audit.py", title=t("Audit"), icon=":material/history:"),
    ]
    if can(Action.INVITE):
        pages.append(st.Page("people.py", title=t("People"), icon=":material/group:"))
    return st.navigation(pages, expanded=True)  # else the last ones hide behind "View more"


def _sidebar(t: Translator, account: Account | None) -> None:
    with st.sidebar:
        _choose_language(t)
        if account is not None:
            who(t, account)
        else:
            st.caption(t("Served on this machine only; there is no sign-in."))


def _simulated_badge(t: Translator) -> None:
    st.badge(
        t("Simulated model"),
        icon=":material/smart_toy:",
        color="violet",
        help=t(
            "No key is set, so a stand-in answers instead of a real model: figures show how the product "
            "works, not how a real agent does. Set OPENAI_API_KEY and start again to use a real one."
        ),
    )


_LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 150 28" height="28">'
    '<rect x="1" y="3" width="22" height="22" rx="6" fill="#1b9aaa"/>'
    '<path d="M7 10h10M7 14h10M7 18h6" stroke="#fff" stroke-width="2" stroke-linecap="round"/>'
    '<text x="32" y="20" font-family="system-ui, sans-serif" font-size="17" font-weight="650" fill="#1b9aaa">'
    "Rulewright</text></svg>"
)


def _write_at_the_top() -> None:
    """Leave the container in which a fragment's run ended.

    A request for a whole run that arrives when a fragment's run is about to end is served by the same thread, in
    which Streamlit 1.67 leaves the fragment's container current. The page would be written into it, and where it no
    longer exists the browser shows a blank page ("Bad delta path index").
    """
    context_dg_stack.set(get_default_dg_stack_value())


def main() -> None:
    """Set the page up and run the one that was asked for."""
    st.set_page_config(page_title="Rulewright", page_icon=":material/rule:", layout="wide")
    _write_at_the_top()
    try:
        app = context()
    except UserError as error:
        keep_language(visitor_language("auto"))
        st.error(translator().error(error), icon=":material/error:")
        st.stop()
    keep_language(visitor_language(app.settings.language))
    keep_address()
    t = translator()
    st.logo(_LOGO, size="large")
    account = admit(app, t)
    page = _navigation(app, t)
    _sidebar(t, account)
    if app.settings.simulated:
        _simulated_badge(t)
    page.run()


main()
