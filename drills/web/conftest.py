"""Debian's Chromium, driven by playwright; without one, these drills are skipped."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
Open = Callable[..., Any]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no browser on this machine")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Open]:
    """Opens a page in a window of its own, as another person would. What it complains of fails the test."""
    contexts, complaints = [], []

    def open_one(url: str, width: int = 1280, dark: bool = False) -> Any:
        scheme = "dark" if dark else "light"
        context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
        page.goto(url)
        return page

    yield open_one
    for context in contexts:
        context.close()
    expected = "Failed to load resource"  # a refused request is an answer that the page shows
    assert [one for one in complaints if expected not in one] == []
