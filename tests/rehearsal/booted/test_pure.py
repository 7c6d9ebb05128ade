"""What booted machines are decided from: names, rules, control groups, the image. Needs nothing of the host."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from deployer.rehearsal.machines.base import IngressRule
from deployer.rehearsal.machines.booted import cgroups, firewall, host, rootfs
from deployer.rehearsal.machines.booted.disk import LIBRARY, shared_folders
from deployer.rehearsal.machines.booted.image import configure
from deployer.rehearsal.machines.booted.names import MACHINES, SLOTS, Slot
from deployer.rehearsal.machines.imds import InstanceMetadata
from tests.support.clock import FakeClock

V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MEMORY = "32 31 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
HYBRID = V1_MEMORY + "41 31 0:33 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"


@pytest.mark.parametrize(
    ("mountinfo", "layout"),
    [
        (V2, cgroups.Layout(Path("/sys/fs/cgroup"), None)),
        (HYBRID, cgroups.Layout(Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup/memory"))),
        (V1_MEMORY, None),
        (V2.replace(" rw,nosuid", " ro,nosuid"), None),
        ("", None),
    ],
    ids=["unified", "hybrid", "only version 1", "read-only", "nothing"],
)
def test_layouts_of_control_groups(mountinfo: str, layout: cgroups.Layout | None) -> None:
    assert cgroups.find_layout(mountinfo) == layout


def test_two_slots_share_nothing() -> None:
    names: set[str] = set()
    for slot in (Slot(0), Slot(1), Slot(10), Slot(255)):
        own = {slot.name, slot.network, slot.services, slot.client, *map(slot.namespace, slot.addresses())}
        assert not names & own
        names |= own
        assert all(len(word) < 16 for word in (slot.name, *map(slot.port, slot.addresses()))), "a link's name is short"
    assert len(Slot(3).addresses()) == len(MACHINES)
    assert Slot(1).owns("dpl-1-11") and not Slot(1).owns("dpl-10-11") and not Slot(1).owns("dpl-10")
    assert SLOTS[-1] == 255


def test_macs_are_local_and_different() -> None:
    macs = {slot.mac(address) for slot in (Slot(0), Slot(7)) for address in slot.addresses()}
    assert len(macs) == 2 * len(MACHINES)
    assert all(int(mac[:2], 16) & 3 == 2 for mac in macs), "locally administered, of one interface"


@pytest.mark.parametrize(
    ("rule", "match"),
    [
        (IngressRule("tcp", (22, 22), "192.0.2.0/24"), "ip saddr 192.0.2.0/24 tcp dport 22-22"),
        (IngressRule("17", (53, 60), "0.0.0.0/0"), "ip saddr 0.0.0.0/0 udp dport 53-60"),
        (IngressRule("-1", None, "192.0.2.1/32"), "ip saddr 192.0.2.1/32"),
        (IngressRule("icmp", None, "192.0.2.1/32"), "ip saddr 192.0.2.1/32 meta l4proto icmp"),
        (IngressRule("tcp", None, "192.0.2.1/32"), "ip saddr 192.0.2.1/32 meta l4proto tcp"),
        (IngressRule("50", None, "192.0.2.1/32"), "ip saddr 192.0.2.1/32 meta l4proto 50"),
    ],
)
def test_rules(rule: IngressRule, match: str) -> None:
    lines = firewall.changed("port11", [rule]).splitlines()
    assert lines == [
        "flush chain ip sg port11",
        f"add rule ip sg port11 {match} accept",
        "add rule ip sg port11 drop",
    ]


def test_a_port_is_closed_from_the_first_moment() -> None:
    added = firewall.opened("port11").splitlines()
    assert added.index("add rule ip sg port11 drop") < next(
        number for number, line in enumerate(added) if line.startswith("add element")
    )
    assert firewall.changed("port11", []).splitlines()[-1] == "add rule ip sg port11 drop"


def test_the_image_holds_nothing_of_the_machine_it_was_built_on(tmp_path: Path) -> None:
    for name in ("etc/ssh/ssh_host_rsa_key", "etc/hostname", "etc/machine-id", "etc/resolv.conf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("of the builder")
    configure(tmp_path)
    configure(tmp_path)
    left = [path.name for path in tmp_path.rglob("*") if path.is_file() and "of the builder" in path.read_text()]
    assert left == []
    assert (tmp_path / "etc/machine-id").read_text() == ""


def test_machines_see_this_package_and_the_wheel() -> None:
    shared = shared_folders()
    package = importlib.util.find_spec("deployer")
    assert package is not None and package.submodule_search_locations
    assert shared[package.submodule_search_locations[0]] == f"{LIBRARY}/deployer"
    assert f"{LIBRARY}/xllamacpp" in shared.values()


def test_the_reason_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert host.available(tmp_path) in ("this user is not root", "this is darwin, not Linux")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = host.available(tmp_path)
    assert reason is not None and "systemd-nspawn" in reason and "systemd-container" in reason


def test_there_is_no_image_in_a_fresh_home() -> None:
    assert not rootfs.is_built()


def test_metadata_as_cloud_init_asks_for_it() -> None:
    metadata = InstanceMetadata({"instance-id": "i-1", "network/interfaces/macs/06:00/mac": "06:00"}, b"", FakeClock())
    assert metadata.lookup("/2009-04-04/meta-data/instance-id") == b"i-1"
    assert metadata.lookup("/2021-03-23/meta-data/") == b"instance-id\nnetwork/"
    assert metadata.lookup("/latest/meta-data/network/interfaces/macs/") == b"06:00/"
    assert metadata.lookup("/2021-03-23/dynamic/instance-identity") == b"document"
    assert metadata.lookup("/latest/other") is None
    assert metadata.lookup("/meta-data/instance-id") is None
