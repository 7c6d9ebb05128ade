"""Which synthetic model stands in for a real file: same architecture, and an MTP head where the real one has it."""

from __future__ import annotations

import re

from deployer.catalog.models import all_models
from deployer.catalog.types import GgufFile, ModelFacts
from deployer.rehearsal.tiny_model import Variant

# `35B-A3B`: so many parameters, so many of them active. Only mixtures of experts are named so.
_ACTIVE_PARAMETERS = re.compile(r"\d+b-a\d+(\.\d+)?b", re.IGNORECASE)

# `accept90` in the name of a repository, a folder or a file: so many percent of the drafts are right.
_ACCEPTANCE = re.compile(r"accept(100|\d{1,2})(?!\d)")


def variant_for(location: str, file: str, *, accept: float = Variant.accept, padding_mib: int = 0) -> Variant:
    """The stand-in for `file` at `location` (a hub repository `ORG/REPO`, or the folder of a URL).

    The catalogue decides; a file it does not know is judged by its names, which may say `accept90`.
    """
    known = _in_catalogue(location, file)
    names = f"{location}/{file}"
    if known is not None:
        facts, entry = known
        moe, head = facts.kind == "moe", entry.mtp_head
    else:
        moe, head = bool(_ACTIVE_PARAMETERS.search(names)), None
    return Variant(
        architecture="qwen35moe" if moe else "qwen35",
        head="present" if (_says_mtp(names) if head is None else head) else "absent",
        accept=int(said.group(1)) / 100 if (said := _ACCEPTANCE.search(names)) else accept,
        padding_mib=padding_mib,
    )


def _says_mtp(names: str) -> bool:
    words = re.split(r"[^a-z0-9]+", names.lower())
    return "mtp" in words and "nomtp" not in words


def catalogue_files(repo: str) -> tuple[str, ...]:
    """Every file the catalogue knows in a hub repository."""
    return tuple(entry.file for facts in all_models() for entry in facts.files if entry.repo == repo)


def _in_catalogue(location: str, file: str) -> tuple[ModelFacts, GgufFile] | None:
    same_name = [(facts, entry) for facts in all_models() for entry in facts.files if entry.file == file]
    in_repo = [(facts, entry) for facts, entry in same_name if entry.repo in location]
    if in_repo:
        return in_repo[0]
    # Repositories with and without MTP use the same file names, so a name alone counts only when all agree.
    return same_name[0] if len({(facts.kind, entry.mtp_head) for facts, entry in same_name}) == 1 else None
