"""report.html in a real browser: it needs no network, no script fails, nothing sticks out, pictures have a size."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest

from mfsim.report import write_report
from tests.analysis.programs import mixed, residual
from tests.report.networks import result
from tests.report.sweeps import product, sensitivity

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=2000",
]
MEASURE = """
<script>
window.failures = [];
addEventListener("error", event => failures.push(String(event.message || event.target.src || event.target.href)), true);
addEventListener("load", () => setTimeout(() => {
  const box = element => element.getBoundingClientRect();
  document.querySelectorAll("details").forEach(element => element.open = true);
  const found = {
    failures,
    resources: performance.getEntriesByType("resource").map(entry => entry.name),
    page: document.documentElement.scrollWidth,
    window: innerWidth,
    heading: document.querySelector("h1").innerText,
    pictures: [...document.querySelectorAll("svg")].map(element => [box(element).width, box(element).height]),
    rows: [...document.querySelectorAll("table tr")].filter(element => box(element).height > 0).length,
  };
  const note = document.createElement("pre");
  note.id = "measured";
  note.textContent = JSON.stringify(found);
  document.body.append(note);
}, 100));
</script>
"""


def needs_browser() -> str:
    """Return the browser; skip without one on a developer's machine, and fail in CI."""
    if BROWSER is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs chromium for this test")
        pytest.skip("needs chromium on the PATH")
    return BROWSER


@pytest.mark.parametrize("width", [1280, 390])
def test_report_in_a_browser(tmp_path, width):
    browser = needs_browser()
    page = write_report(
        [result("free", residual(), sweeps=(product(), sensitivity())), result("dense", mixed())],
        tmp_path / "report",
        "Two networks",
    )
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<head>", "<head>" + MEASURE, 1), encoding="utf-8")
    done = subprocess.run(
        [
            browser,
            *OPTIONS,
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},900",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    (note,) = re.findall(r'<pre id="measured">(.*?)</pre>', done.stdout, re.DOTALL)
    found = json.loads(note.replace("&quot;", '"').replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    assert found["heading"] == "Two networks"
    assert found["failures"] == []
    assert found["resources"] == []
    assert found["page"] <= found["window"], "the page is wider than its window"
    assert len(found["pictures"]) >= 4
    assert all(w > 50 and h > 10 for w, h in found["pictures"])
    assert found["rows"] > 30
