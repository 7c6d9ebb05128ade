"""Machines of kind `booted`: an instance is a container in which a real systemd boots.

Each has its own network namespace and address, cloud-init that reads user-data from a metadata service at
169.254.169.254, OpenSSH, a firewall that follows its security groups and the memory of its instance type. Needs root
on Linux. Everything made on the host is named `dpl-...` and goes away with the sandbox, at the latest when the next one
starts or is stopped (see slots).
"""
