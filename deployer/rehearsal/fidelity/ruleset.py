"""The rules in their order, outermost first."""

from __future__ import annotations

from deployer.rehearsal.fidelity.call import Rule
from deployer.rehearsal.fidelity.consistency import Consistency, birth_register
from deployer.rehearsal.fidelity.console import ConsoleRule
from deployer.rehearsal.fidelity.dependencies import DependencyRule
from deployer.rehearsal.fidelity.faults import FaultRule
from deployer.rehearsal.fidelity.firewall import FirewallRule
from deployer.rehearsal.fidelity.fleet import Fleet
from deployer.rehearsal.fidelity.idempotency import IdempotencyRule
from deployer.rehearsal.fidelity.launch_checks import LaunchChecks
from deployer.rehearsal.fidelity.market import MarketRule
from deployer.rehearsal.fidelity.names import regional_names
from deployer.rehearsal.fidelity.partition_guard import partition_guard
from deployer.rehearsal.fidelity.profiles import ProfileRule
from deployer.rehearsal.fidelity.quota import QuotaRule
from deployer.rehearsal.fidelity.secure_strings import secure_strings
from deployer.rehearsal.fidelity.serial import SerialRule
from deployer.rehearsal.fidelity.spot import SpotRule
from deployer.rehearsal.fidelity.transitions import TransitionRule
from deployer.rehearsal.fidelity.user_data_limit import user_data_limit
from deployer.rehearsal.fidelity.world import World


def rules_of(world: World, fleet: Fleet, faults: FaultRule, consistency: Consistency) -> tuple[Rule, ...]:
    """Every rule of one cloud. Faults come before the lock; tokens before the checks, for a repeat is not checked."""
    return (
        faults,
        SerialRule(world, fleet),
        MarketRule(world),
        regional_names,
        secure_strings,
        partition_guard,
        IdempotencyRule(),
        birth_register(consistency),
        user_data_limit,
        LaunchChecks(world),
        ProfileRule(world),
        QuotaRule(world, fleet),
        DependencyRule(world),
        TransitionRule(fleet),
        SpotRule(world, fleet),
        ConsoleRule(world, fleet),
        FirewallRule(world, fleet),
    )
