"""Skills as people and agents read them: Markdown, a SKILL.md folder, a diff of two versions."""

import json
import re
from difflib import unified_diff
from pathlib import Path

from fluxmem_graph.types import Skill

FILE = "SKILL.md"
LONGEST_NAME, LONGEST_DESCRIPTION = 64, 1024
LONGEST_END = 8


def to_markdown(skill: Skill) -> str:
    """Return a version as Markdown with the front matter that agents look for: `name` and `description`."""
    description = " ".join(skill.when_to_use.split())[:LONGEST_DESCRIPTION]
    # JSON strings are YAML strings: nothing in a text can end the front matter.
    lines = [
        "---",
        f"name: {folder_name(skill)}",
        f"description: {json.dumps(description, ensure_ascii=False)}",
    ]
    lines += ["---", "", f"# {_line(skill.name)}", "", "## Steps", ""]
    lines += [f"{number}. {_line(step)}" for number, step in enumerate(skill.steps, start=1)]
    if skill.slots:
        lines += ["", "## Slots", ""]
        lines += [f"- `{name}`{_seen(examples)}" for name, examples in skill.slots.items()]
    if skill.pitfalls:
        lines += ["", "## Pitfalls", "", *(f"- {_line(pitfall)}" for pitfall in skill.pitfalls)]
    return "\n".join([*lines, ""])


def folder_name(skill: Skill) -> str:
    """Return a skill's name in lower case with hyphens, at most 64 characters, after it the end of its id.

    Two skills may have one name; all versions of a skill have one id.
    """
    end = _hyphened(skill.skill_id)[-LONGEST_END:].lstrip("-")
    words = _hyphened(skill.name) or "skill"
    return f"{words[: LONGEST_NAME - LONGEST_END - 1].rstrip('-')}-{end}"


def _hyphened(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def write_folder(skill: Skill, folder: Path) -> Path:
    """Write `FOLDER/NAME/SKILL.md` and return its path; a file of an earlier version is replaced."""
    place = folder / folder_name(skill)
    place.mkdir(parents=True, exist_ok=True)
    file = place / FILE
    file.write_text(to_markdown(skill), encoding="utf-8")
    return file


def diff(older: Skill, newer: Skill) -> str:
    """Return a unified diff of the Markdown of two versions; empty if they read the same."""
    texts = (to_markdown(older).splitlines(), to_markdown(newer).splitlines())
    labels = (f"version {older.version}", f"version {newer.version}")
    return "\n".join(unified_diff(*texts, *labels, lineterm=""))


def _line(text: str) -> str:
    return " ".join(text.split())


def _seen(examples: list[str]) -> str:
    return f": such as {', '.join(examples)}" if examples else ""
