"""cloud-init itself, the one of the machine image, says whether it understands what is rendered."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from deployer.rehearsal.machines.booted import rootfs
from deployer.render.user_data import render_user_data
from tests.golden import cases

pytestmark = pytest.mark.box


def _schema(text: str) -> tuple[int, str]:
    """Exit code and words of `cloud-init schema`; the image stays as it is, the file is handed in."""
    # In a mount namespace of its own the file lies where the image has an empty folder.
    script = 'mount --bind "$1" "$2/mnt" && exec chroot "$2" cloud-init schema --annotate -c /mnt/user-data.yaml'
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "user-data.yaml").write_text(text)
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", folder, str(rootfs.rootfs_path())],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", [name for name in cases.NAMES if name != "local-tiny"])
def test_what_is_rendered_is_accepted(name: str) -> None:
    deployment = cases.decided(cases.FOLDER / name / "spec.yaml")
    user_data = render_user_data(deployment, cases.facts(deployment))
    code, words = _schema(user_data.text)
    assert code == 0 and "Valid cloud-config" in words, words
    assert "deprecat" not in words.lower(), words


def test_a_mistake_is_found() -> None:
    code, words = _schema("#cloud-config\nwrite_files:\n- pathh: /x\n")
    assert code != 0 and "pathh" in words, words
