"""From one row of a JSON Lines file to a memory or an episode."""

from dataclasses import dataclass, field, replace
from typing import Any

from fluxmem_graph.errors import InvalidInput
from fluxmem_graph.ingest.actions import render_action
from fluxmem_graph.ingest.options import EPISODE_FIELDS, MEMORY_FIELDS, ReadNotes, ReadOptions
from fluxmem_graph.ingest.times import read_time
from fluxmem_graph.ingest.values import check_text, clean_text, encode_metadata
from fluxmem_graph.types import Failure, NewEpisode, NewMemory, NewStep

Item = NewMemory | NewEpisode | Failure

# What a turn may lack: an empty one is as good as none.
_OPTIONAL = MEMORY_FIELDS.keys() - {"content"}


@dataclass(slots=True)
class RowReader:
    """Reads the rows of one source in order."""

    source: str
    options: ReadOptions
    notes: ReadNotes
    _seen: dict[str, int] = field(default_factory=dict)

    def read(self, row: object, where: str) -> NewMemory | NewEpisode:
        """Return what a row holds: a trajectory if it has task and steps, else a turn or passage.

        Raises InvalidInput.
        """
        if not isinstance(row, dict):
            raise InvalidInput(f"a row must be a JSON object, not {_kind(row)}")
        fields = {name: value for name, value in row.items() if name not in self.options.drop}
        if all(self._take({**fields}, meaning) is not None for meaning in ("task", "steps")):
            return self._episode({meaning: self._take(fields, meaning) for meaning in EPISODE_FIELDS})
        return self._memory(
            {meaning: self._take(fields, meaning) for meaning in MEMORY_FIELDS}, fields, where
        )

    def _take(self, fields: dict[str, Any], meaning: str) -> Any:
        empty = None
        for name in self.options.names(meaning):
            value = fields.pop(name, None)
            if value not in (None, ""):
                return value
            empty = value if value is not None else empty
        return None if meaning in _OPTIONAL else empty

    def _memory(self, known: dict[str, Any], extra: dict[str, Any], where: str) -> NewMemory:
        if known["content"] is None:
            names = " or ".join(self.options.names("content"))
            raise InvalidInput(
                f"no field {names}, and no task with steps; name the text with --map content=FIELD"
            )
        content = clean_text(_text(known["content"], "content"))
        caption = _optional_text(known["caption"], "caption")
        if caption:
            content = f"{content} [image: {check_text(caption)}]"
        external_id = _identifier(known["id"])
        self._refuse_reuse(external_id, content)
        speaker = _optional_text(known["speaker"], "speaker")
        metadata = self._metadata(known, extra)
        memory = NewMemory(
            content=content,
            external_id=external_id,
            source=self.source,
            speaker=speaker,
            title=_optional_text(known["title"], "title"),
            metadata=metadata,
            session=self._session(known["session"], speaker),
        )
        return self._dated(memory, known["time"], where)

    def _metadata(self, known: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
        # The printed date stays beside the parsed one, which may be wrong or missing.
        kept = {name: known[name] for name in ("session", "time") if known[name] is not None}
        if clash := kept.keys() & extra.keys():
            raise InvalidInput(f"field {min(clash)} is mapped from another one; add --drop {min(clash)}")
        encode_metadata({**kept, **extra})
        return {**kept, **extra}

    def _session(self, session: Any, speaker: str | None) -> str | None:
        if session is not None:
            return str(session)
        # What is spoken has an order even where nobody wrote down a session.
        return self.source if speaker else None

    def _refuse_reuse(self, external_id: str | None, content: str) -> None:
        if external_id is not None and self._seen.setdefault(external_id, hash(content)) != hash(content):
            raise InvalidInput(f"id {external_id!r} stands for another text earlier in {self.source}")

    def _dated(self, memory: NewMemory, printed: Any, where: str) -> NewMemory:
        if printed is None:
            return memory
        time = read_time(str(printed)) if isinstance(printed, str | int | float) else None
        if time is None:
            self.notes.undated.append(Failure(where, f"time {printed!r} can't be read; stored without one"))
            return memory
        self.notes.naive_times += time.naive
        return replace(memory, occurred_at=time.at)

    def _episode(self, known: dict[str, Any]) -> NewEpisode:
        # Only the fields that an agent saw: labels such as reward or task group would leak the answer.
        if not isinstance(known["steps"], list):
            raise InvalidInput(f"steps must be a list, not {_kind(known['steps'])}")
        steps = [_step(step, index) for index, step in enumerate(known["steps"])]
        raw = [_unless_said(step.get("action")) for step in known["steps"]]
        encode_metadata({"actions": raw})
        return NewEpisode(
            task=clean_text(_text(known["task"], "task")),
            steps=tuple(steps),
            external_id=_identifier(known["id"]),
            source=self.source,
            success=_success(known["success"]),
            metadata={"actions": raw},
        )


def _unless_said(action: object) -> object:
    """Return an action whose text can't give it back, and None for one that only says something."""
    said = isinstance(action, dict) and action.keys() == {"say"} and isinstance(action["say"], str)
    return None if said else action


def _step(step: object, index: int) -> NewStep:
    if not isinstance(step, dict):
        raise InvalidInput(f"step {index} must be a JSON object, not {_kind(step)}")
    observation = _optional_text(step.get("observation"), f"step {index}: observation") or ""
    feedback = _optional_text(step.get("feedback"), f"step {index}: feedback")
    return NewStep(observation, check_text(render_action(step.get("action"))), feedback)


def _success(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool | int | float) and 0 <= value <= 1:
        return float(value)
    raise InvalidInput(f"success must be true, false or 0..1, not {value!r}")


def _identifier(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return clean_text(_text(value, "id"))


def _optional_text(value: object, what: str) -> str | None:
    return None if value is None or value == "" else check_text(_text(value, what))


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")
