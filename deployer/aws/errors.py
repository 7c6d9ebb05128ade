"""AWS error codes -> meaning, in one table, and the sentence a person gets for each meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from deployer.errors import AwsError, CapacityError, CredentialsError, DeployerError, RefusedError

Meaning = Literal[
    "capacity",
    "quota",
    "permission",
    "parameter",
    "throttle",
    "consistency",
    "not_found",
    "exists",
    "dependency",
    "credentials",
    "network",
    "outage",
    "unknown",
]

#: Source: AWS's error code pages of EC2, SSM and IAM, and the codes that users of other launchers reported.
#: `consistency` is a thing made moments ago that another part of AWS does not see yet.
CODES: Mapping[str, Meaning] = {
    # AWS has no such instance now: another zone or type may.
    "InsufficientInstanceCapacity": "capacity",
    "InsufficientHostCapacity": "capacity",
    "InsufficientReservedInstanceCapacity": "capacity",
    "InsufficientCapacity": "capacity",
    "InsufficientFreeAddressesInSubnet": "capacity",
    "SpotMaxPriceTooLow": "capacity",
    "Unsupported": "capacity",
    "UnfulfillableCapacity": "capacity",
    "InstanceTypeNotSupportedInZone": "capacity",
    "InsufficientVolumeCapacity": "capacity",
    "ReservationCapacityExceeded": "capacity",
    # The account may not have more; trying elsewhere in the region does not help.
    "VcpuLimitExceeded": "quota",
    "InstanceLimitExceeded": "quota",
    "MaxSpotInstanceCountExceeded": "quota",
    "VolumeLimitExceeded": "quota",
    "SecurityGroupLimitExceeded": "quota",
    "RulesPerSecurityGroupLimitExceeded": "quota",
    "ParameterLimitExceeded": "quota",
    "LimitExceeded": "quota",
    "AddressLimitExceeded": "quota",
    "NetworkInterfaceLimitExceeded": "quota",
    "SecurityGroupsPerInstanceLimitExceeded": "quota",
    "TagLimitExceeded": "quota",
    "MaxIOPSLimitExceeded": "quota",
    "LimitExceededException": "quota",
    "ServiceQuotaExceededException": "quota",
    # The caller may not do this.
    "UnauthorizedOperation": "permission",
    "AccessDenied": "permission",
    "AccessDeniedException": "permission",
    "OperationNotPermitted": "permission",
    "PendingVerification": "permission",
    "OptInRequired": "permission",
    "AuthFailure.ServiceLinkedRoleCreationNotPermitted": "permission",
    "Blocked": "permission",
    # We (or the spec) asked for something that AWS does not accept.
    "InvalidParameterValue": "parameter",
    "InvalidParameterCombination": "parameter",
    "InvalidParameter": "parameter",
    "MissingParameter": "parameter",
    "UnknownParameter": "parameter",
    "InvalidAvailabilityZone": "parameter",
    "InvalidSubnet": "parameter",
    "VPCIdNotSpecified": "parameter",
    "DefaultVpcDoesNotExist": "parameter",
    "ValidationException": "parameter",
    "ValidationError": "parameter",
    "UnsupportedOperation": "parameter",
    "InvalidInstanceType": "parameter",
    "InvalidAMIID.NotFound": "parameter",
    "InvalidAMIID.Malformed": "parameter",
    "InvalidAMIID.Unavailable": "parameter",
    "InvalidSubnetID.NotFound": "parameter",
    "InvalidVpcID.NotFound": "parameter",
    "InvalidUserData.Malformed": "parameter",
    "InvalidBlockDeviceMapping": "parameter",
    "InvalidKey.Format": "parameter",
    "IdempotentParameterMismatch": "parameter",
    "InvalidParameterException": "parameter",
    "MalformedPolicyDocument": "parameter",
    "MalformedPolicyDocumentException": "parameter",
    # Slow down.
    "RequestLimitExceeded": "throttle",
    "Throttling": "throttle",
    "ThrottlingException": "throttle",
    "ThrottledException": "throttle",
    "TooManyRequestsException": "throttle",
    "RequestThrottled": "throttle",
    "RequestThrottledException": "throttle",
    "SlowDown": "throttle",
    "EC2ThrottledException": "throttle",
    "ProvisionedThroughputExceededException": "throttle",
    "TooManyUpdates": "throttle",
    "ConcurrentModification": "throttle",
    "EntityTemporarilyUnmodifiable": "consistency",
    "IncorrectInstanceState": "consistency",
    "IncorrectState": "consistency",
    # It is not there.
    "InvalidInstanceID.NotFound": "not_found",
    "InvalidGroup.NotFound": "not_found",
    "InvalidGroupId.NotFound": "not_found",
    "InvalidSecurityGroupID.NotFound": "not_found",
    "InvalidPermission.NotFound": "not_found",
    "InvalidKeyPair.NotFound": "not_found",
    "InvalidVolume.NotFound": "not_found",
    "InvalidNetworkInterfaceID.NotFound": "not_found",
    "ParameterNotFound": "not_found",
    "InvalidResourceId": "not_found",
    "NoSuchEntity": "not_found",
    "RepositoryNotFoundException": "not_found",
    "ImageNotFoundException": "not_found",
    # It is there already.
    "InvalidGroup.Duplicate": "exists",
    "InvalidKeyPair.Duplicate": "exists",
    "InvalidPermission.Duplicate": "exists",
    "EntityAlreadyExists": "exists",
    "ParameterAlreadyExists": "exists",
    "RepositoryAlreadyExistsException": "exists",
    # Something still uses it.
    "DependencyViolation": "dependency",
    "DeleteConflict": "dependency",
    "InvalidGroup.InUse": "dependency",
    "VolumeInUse": "dependency",
    # The key itself is not accepted.
    "AuthFailure": "credentials",
    "InvalidClientTokenId": "credentials",
    "UnrecognizedClientException": "credentials",
    "SignatureDoesNotMatch": "credentials",
    "ExpiredToken": "credentials",
    "ExpiredTokenException": "credentials",
    "RequestExpired": "credentials",
    "NoCredentials": "credentials",
    # AWS's own trouble.
    "InternalError": "outage",
    "InternalFailure": "outage",
    "InternalServerError": "outage",
    "InternalServerException": "outage",
    "ServerInternal": "outage",
    "ServiceFailure": "outage",
    "ServiceFailureException": "outage",
    "ServiceUnavailable": "outage",
    "Unavailable": "outage",
    # Ours, not AWS's: no answer came.
    "NoAnswer": "network",
}

REHEARSE_HINT = (
    "give credentials of this partition (AWS_PROFILE, aws configure), "
    "or try `deployer rehearse SPEC`: it needs no account"
)

_HINTS: Mapping[Meaning, str] = {
    "capacity": "add instance.fallbacks, another zone (network.subnet) or try later",
    "quota": "ask for a higher quota in Service Quotas, or choose a smaller instance.type",
    "permission": "allow this action for your AWS user or role, then run the same command again",
    "parameter": "fix the value that AWS names in the spec; `deployer plan SPEC` shows what would be sent",
    "throttle": "AWS asks to slow down: run the same command again in a minute, it goes on where it stopped",
    "consistency": "AWS does not see its own change yet: run the same command again in a minute",
    "not_found": "it was deleted elsewhere: run the same command again",
    "exists": "a resource of this name exists: delete or rename it, or choose another stack name",
    "dependency": "something else still uses it: remove that first, then run `deployer down` again",
    "credentials": REHEARSE_HINT,
    "network": "check the network, proxy and region, then run the same command again: it goes on where it stopped",
    "outage": "AWS itself has trouble: run the same command again in some minutes, it goes on where it stopped",
    "unknown": "run the same command again; if it stays, the AWS code and request id help AWS support",
}

#: Codes whose way out is not that of their meaning.
_OWN_HINTS: Mapping[str, str] = {
    "PendingVerification": "AWS still verifies this account for the region: it mails when it is done, mostly within "
    "minutes, at most hours; then run the same command again. No permission of yours is missing",
    "OptInRequired": "this account has not signed up for the service or region: do that in the console, then try again",
}


def meaning(code: str) -> Meaning:
    """What an AWS error code means for us; `unknown` for a code that the table lacks."""
    known = CODES.get(code)
    if known is not None:
        return known
    if code.startswith(("Client.", "Server.")):
        return meaning(code.partition(".")[2])
    return "unknown"


def hint(code: str) -> str:
    """What a person can do about an AWS error code."""
    return _OWN_HINTS.get(code) or _HINTS[meaning(code)]


def for_person(error: AwsError) -> DeployerError:
    """The error to show when nothing handled this AWS answer: same facts, the exit code that fits its meaning."""
    tail = f" (request {error.request_id})" if error.request_id else ""
    text = f"{error.message}{tail}"
    match meaning(error.aws_code):
        case "capacity":
            return CapacityError(text, where=error.operation, hint=error.hint)
        case "quota" | "permission" | "parameter":
            return RefusedError(text, where=error.operation, hint=error.hint)
        case "credentials":
            return CredentialsError(text, where=error.operation, hint=error.hint)
        case _:
            return error
