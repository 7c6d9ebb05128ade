"""What the machine image is made of: packages, and configuration as an Amazon Machine Image has it."""

from __future__ import annotations

from pathlib import Path

SUITE = "bookworm"
PACKAGES = (
    "systemd-sysv",
    "dbus",
    # The machine knows its own name, as it does on EC2.
    "libnss-myhostname",
    "cloud-init",
    "openssh-server",
    "sudo",
    "python3",
    "iproute2",
    "curl",
    "ca-certificates",
    # What llama.cpp's CPU backend is linked with.
    "libgomp1",
)
#: Not unpacked: nobody reads manuals on a machine that lives for seconds.
EXCLUDED = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")

#: Units that have nothing to do here and would only load the host.
MASKED = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "systemd-pstore.service",
)

#: Where the id of the hypervisor that a machine is told to be on is kept on its disk.
HYPERVISOR_ID = "etc/hypervisor-uuid"

# Instances of the Xen generation find an id that starts with ec2 at /sys/hypervisor/uuid, and cloud-init knows EC2 by
# it: then it speaks version 2 of the metadata service only. The other sign, the firmware's tables, it does not look for
# in a container. The kernel's own /sys takes no new folder, so one that has it is put together and laid over it, at one
# stroke, for systemd needs its control groups there.
_SHOW_HYPERVISOR = f"""#!/bin/sh -eu
mkdir /run/sys
mount -t tmpfs -o mode=755,nosuid,nodev,noexec sysfs /run/sys
mount --make-private /run/sys
for entry in /sys/*; do
  mkdir "/run/sys/${{entry##*/}}"
  mount --rbind "$entry" "/run/sys/${{entry##*/}}"
done
mkdir /run/sys/hypervisor
cp /{HYPERVISOR_ID} /run/sys/hypervisor/uuid
mount -o remount,ro /run/sys
mount --make-rprivate /run/sys
mount --rbind /run/sys /sys
umount --recursive --lazy /run/sys
rmdir /run/sys
"""
_HYPERVISOR_UNIT = """[Unit]
Description=Show the id of the hypervisor
DefaultDependencies=no
After=systemd-remount-fs.service
Before=cloud-init-local.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/show-hypervisor
"""

# User and kinds of host keys are those of Amazon Linux. The network is up before the machine is.
_CLOUD_CONFIG = """datasource_list: [ Ec2 ]
datasource:
  Ec2:
    metadata_urls: ["http://169.254.169.254"]
    max_wait: 30
    timeout: 5
network: {config: disabled}
locale: C.UTF-8
ssh_genkeytypes: [ed25519, ecdsa]
system_info:
  default_user:
    name: ec2-user
    gecos: EC2 Default User
    lock_passwd: true
    groups: [adm, systemd-journal]
    sudo: ["ALL=(ALL) NOPASSWD:ALL"]
    shell: /bin/bash
"""

FILES = {
    "etc/cloud/cloud.cfg.d/90-image.cfg": _CLOUD_CONFIG,
    "etc/systemd/system/hypervisor-uuid.service": _HYPERVISOR_UNIT,
    "usr/local/sbin/show-hypervisor": _SHOW_HYPERVISOR,
    # Empty: each machine makes its own at its first boot.
    "etc/machine-id": "",
}


def configure(root: Path) -> None:
    """Turn a fresh installation into the image: its files in, what belongs to a single machine out."""
    units = root / "etc/systemd/system"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755 if text.startswith("#!") else 0o644)
    for name in MASKED:
        _link(units / name, "/dev/null")
    _link(
        units / "cloud-init-local.service.wants/hypervisor-uuid.service", "/etc/systemd/system/hypervisor-uuid.service"
    )
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    for name in ("etc/resolv.conf", "etc/hostname"):
        (root / name).unlink(missing_ok=True)


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
