"""Takes pictures of every page: ``python -m tests.tools.screenshots FOLDER --url http://127.0.0.1:8501``.

Both languages, light and dark, 1280 and 390 pixels wide. The app has to be running.
"""

import argparse
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PAGES = (
    "", "review", "conflicts", "library", "preview", "memory_policy", "episodes", "provenance", "diagnostics", "spend",
    "loop", "audit", "people",
)  # fmt: skip
WIDTHS = {"wide": 1280, "phone": 390}
_LOADING = '[data-testid="stSkeleton"]'
_RUNNING = '[data-testid="stApp"][data-test-script-state="running"]'


@dataclass(frozen=True)
class Shot:
    """One picture: a page (with its further query), a language, a colour scheme and a size."""

    page: str
    query: str
    language: str
    scheme: str
    size: str

    @property
    def words(self) -> set[str]:
        name = self.page or "overview"
        return {name, self.language, self.scheme, self.size, "detail" if self.query else "list"}

    @property
    def file(self) -> str:
        detail = "-detail" if self.query else ""
        return f"{self.page or 'overview'}{detail}-{self.language}-{self.scheme}-{self.size}.png"


def shoot(browser: Browser, url: str, folder: Path, shot: Shot) -> Path:
    """Take one picture of a whole page and return its file."""
    width = WIDTHS[shot.size]
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if shot.scheme == "dark" else "light",
        locale="zh-CN" if shot.language == "zh" else "en-US",
    )
    tab = context.new_page()
    tab.goto(f"{url}/{shot.page}?lang={shot.language}{shot.query}")
    tab.wait_for_selector('[data-testid="stMainBlockContainer"] h1', timeout=30_000)
    _wait(tab)
    height = tab.evaluate("""() => {
        const main = document.querySelector('[data-testid="stMain"]');
        return main ? main.scrollHeight : document.body.scrollHeight;
    }""")
    # Streamlit scrolls an inner box, so a full-page picture needs a window as tall as that box.
    tab.set_viewport_size({"width": width, "height": min(int(height) + 80, 6000)})
    _wait(tab)
    target = folder / shot.file
    tab.screenshot(path=target)
    context.close()
    return target


def _wait(tab: Page) -> None:
    for selector in (_RUNNING, _LOADING):
        tab.wait_for_selector(selector, state="detached", timeout=30_000)
    tab.wait_for_load_state("networkidle")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:8501")
    parser.add_argument("--rule", help="id of a rule whose page is shown too")
    parser.add_argument("--episode", help="id of an episode whose page is shown too")
    parser.add_argument("--only", nargs="*", default=[], help="e.g. review zh dark phone: pictures with all of these")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    shown = [(page, "") for page in PAGES]
    shown += [("library", f"&rule={options.rule}")] if options.rule else []
    shown += [("episodes", f"&episode={options.episode}")] if options.episode else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        for (page, query), language, scheme, size in product(shown, ("en", "zh"), ("light", "dark"), WIDTHS):
            shot = Shot(page, query, language, scheme, size)
            if set(options.only) <= shot.words:
                print(shoot(browser, options.url, options.folder, shot))
        browser.close()


if __name__ == "__main__":
    main()
