"""The picture of a benchmark's report.

Brings the synthetic model up on this machine, measures it, opens the report in a headless Chromium and takes its
picture. Usage: python bench/report_picture.py [FILE.png]. Needs chromium and chromedriver.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
_WIDTH = 1100


def main(picture: Path) -> None:
    """Write the PNG."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.html")
        env = {**os.environ, "DEPLOYER_HOME": f"{folder}/home", "DEPLOYER_MODELS": f"{folder}/models"}
        _deployer(env, "sandbox", "model", "--out", f"{folder}/models/tiny-qwen35-mtp.gguf")
        try:
            _deployer(env, "up", "stacks/local-tiny.yaml")
            _deployer(env, "bench", "local-tiny", "--html", str(report))
        finally:
            _deployer(env, "down", "local-tiny")
        _shoot(report, picture, folder)


def _deployer(env: dict[str, str], *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "deployer", *arguments], cwd=ROOT, env=env, check=True)


def _shoot(report: Path, picture: Path, folder: str) -> None:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium") or shutil.which("google-chrome"))
    quiet = "disable-gpu disable-quic no-first-run disable-background-networking disable-component-update disable-sync"
    for word in ("headless", "no-sandbox", "hide-scrollbars", *quiet.split(), f"user-data-dir={folder}/browser"):
        options.add_argument(f"--{word}")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(shutil.which("chromedriver"))))
    try:
        browser.set_window_size(_WIDTH, 800)
        browser.get(report.as_uri())
        browser.set_window_size(_WIDTH, browser.execute_script("return document.documentElement.scrollHeight") + 140)
        browser.save_screenshot(str(picture))
    finally:
        browser.quit()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "bench.png").resolve())
