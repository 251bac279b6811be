"""Skills: read, review, compare, roll back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.options import JsonOption, NamespaceOption, ReasonOption
from fluxmem_cli.output import note, print_json, print_pairs, print_table, print_text, snippet

if TYPE_CHECKING:
    from fluxmem_graph.types import Skill

SHOWN = 20
COLUMNS = ("skill", "version", "review", "status", "PEMS", "success", "tokens", "runs", "name")

SkillArgument = Annotated[str, typer.Argument(metavar="SKILL", help="A skill's id, or that of a version.")]
VersionOption = Annotated[
    int | None,
    typer.Option("--version", "-v", min=1, help="Which version, if not the one that stands to reason."),
]


def list_skills(namespace: NamespaceOption = None, as_json: JsonOption = False) -> None:
    """List skills with their latest version, best first."""
    with open_memory(namespace) as memory:
        skills = memory.skills()
    if as_json:
        print_json({"skills": skills})
        return
    print_table(COLUMNS, map(_row, skills))
    if not skills:
        note("no skills yet; `fluxmem consolidate` makes them of finished episodes")


def show(
    skill: SkillArgument,
    version: VersionOption = None,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FOLDER", help="Write FOLDER/NAME/SKILL.md, too.")
    ] = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a skill as Markdown, with where it comes from: the version in use, else the newest."""
    from fluxmem_graph.operations.skill_files import to_markdown, write_folder

    with open_memory(namespace) as memory:
        found = memory.skill(skill, version)
        sources = [memory.get(source) for source in found.sources[:SHOWN]]
    if export is not None:
        note(f"wrote {write_folder(found, export)}")
    if as_json:
        print_json({"skill": found, "markdown": to_markdown(found)})
        return
    print_text(to_markdown(found))
    print_pairs(
        {
            "skill": found.skill_id,
            "version": f"{found.version} ({found.review}, {found.status})",
            "PEMS": f"{found.pems:.3f}: success {found.pems_success:.2f} ({found.evidence}), "
            f"{found.pems_length} tokens, drift {found.pems_drift:.2f}{', settled' if found.settled else ''}",
            "made by": found.made_by,
        }
    )
    print_table(
        ("run", "task"),
        [(source.id, snippet(source.name)) for source in sources],
        title=f"sources, {len(sources)} of {len(found.sources)}",
    )


def history(skill: SkillArgument, namespace: NamespaceOption = None, as_json: JsonOption = False) -> None:
    """List all versions of a skill, newest first."""
    with open_memory(namespace) as memory:
        versions = memory.skill_versions(skill)
    if as_json:
        print_json({"versions": versions})
    else:
        print_table(COLUMNS, map(_row, versions))


def diff(
    skill: SkillArgument,
    older: Annotated[
        int | None, typer.Argument(min=1, help="The one before the newer, if not given.")
    ] = None,
    newer: Annotated[int | None, typer.Argument(min=1, help="The newest, if not given.")] = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what changed from one version of a skill to another."""
    from fluxmem_graph.errors import NotFound
    from fluxmem_graph.operations.skill_files import diff as compare

    with open_memory(namespace) as memory:
        versions = memory.skill_versions(skill)
        last = memory.skill(skill, versions[0].version if newer is None else newer)
        earlier = [found.version for found in versions if found.version < last.version]
        if older is None and not earlier:
            raise NotFound(f"skill {skill} has no version before {last.version} to compare with")
        first = memory.skill(skill, earlier[0] if older is None else older)
    changed = compare(first, last)
    if as_json:
        print_json({"older": first.version, "newer": last.version, "diff": changed})
    elif changed:
        print_text(changed)
    else:
        note(f"versions {first.version} and {last.version} read the same; their runs may differ")


def approve(
    skill: SkillArgument,
    version: VersionOption = None,
    reason: ReasonOption = "",
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give agents a version of a skill: the newest candidate, or the one named."""
    with open_memory(namespace) as memory:
        _reviewed(memory.approve_skill(skill, version, reason=reason), as_json)


def retire(
    skill: SkillArgument,
    reason: ReasonOption = "",
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a skill away from agents; nothing is deleted, and `skill approve -v` brings it back."""
    with open_memory(namespace) as memory:
        _reviewed(memory.retire_skill(skill, reason=reason), as_json)


def rollback(
    skill: SkillArgument,
    version: VersionOption = None,
    reason: ReasonOption = "",
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give agents an earlier version again: the last approved one, or the one named."""
    with open_memory(namespace) as memory:
        _reviewed(memory.rollback_skill(skill, version, reason=reason), as_json)


def _reviewed(skill: "Skill", as_json: bool) -> None:
    if as_json:
        print_json({"skill": skill})
    else:
        print(f"version {skill.version} of skill {skill.skill_id} is {skill.review}, {skill.status}")


def _row(skill: "Skill") -> tuple[str, ...]:
    return (
        skill.skill_id,
        str(skill.version),
        skill.review,
        skill.status,
        f"{skill.pems:.3f}",
        f"{skill.pems_success:.2f}",
        str(skill.pems_length),
        str(len(skill.sources)),
        snippet(skill.name),
    )
