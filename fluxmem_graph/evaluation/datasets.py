"""Question sets with gold evidence: conversations (turns) and multi-hop sets (passages).

A set is a folder with `questions.jsonl` beside `turns.jsonl` or `corpus.jsonl`. Gold labels stay in
`Question`; a `Document` holds only what an application would have stored.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.ingest import read_path
from fluxmem_graph.types import Failure, NewEpisode, NewMemory

QUESTIONS_FILE = "questions.jsonl"
DOCUMENT_FILES = ("turns.jsonl", "corpus.jsonl")
ADVERSARIAL = "adversarial"


@dataclass(frozen=True, slots=True)
class Document:
    """One source turn or passage; `id` is the unit of every ranking."""

    id: str
    memory: NewMemory


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the ids of the documents that answer it, and the answer as a user would give it."""

    id: str
    text: str
    category: str | None
    evidence: frozenset[str]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """One corpus with its answerable questions, in file order."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]

    @property
    def missing_evidence(self) -> int:
        """Number of gold labels that name no document: they count as not found, for every system alike."""
        known = {document.id for document in self.documents}
        return sum(len(question.evidence - known) for question in self.questions)


def load_retrieval_sets(path: Path) -> list[RetrievalSet]:
    """Read the set in a folder, or the sets in its subfolders by name.

    Adversarial questions and those without evidence are left out. Raises ConfigurationError.
    """
    folders = [path] if (path / QUESTIONS_FILE).is_file() else _subfolders(path)
    sets = [_load(folder) for folder in folders if _documents_file(folder) is not None]
    if not sets:
        wanted = " or ".join(DOCUMENT_FILES)
        raise ConfigurationError(
            f"data not found at {path}: give a folder with {QUESTIONS_FILE} and {wanted}, or a folder of such"
        )
    return sets


def _subfolders(path: Path) -> list[Path]:
    return sorted(found.parent for found in path.glob(f"*/{QUESTIONS_FILE}"))


def _documents_file(folder: Path) -> Path | None:
    return next((folder / name for name in DOCUMENT_FILES if (folder / name).is_file()), None)


def _load(folder: Path) -> RetrievalSet:
    documents = _documents(_documents_file(folder) or folder)
    ids = [document.id for document in documents]
    questions = tuple(
        Question(row.id, row.question, row.category, row.evidence, without_ids(row.answer, ids))
        for row in _question_rows(folder / QUESTIONS_FILE)
        if row.evidence and row.category != ADVERSARIAL
    )
    if not questions or not documents:
        raise ConfigurationError(f"{folder} has no documents or no questions with evidence")
    return RetrievalSet(folder.name, documents, questions)


class _QuestionRow(BaseModel):
    id: str
    question: str
    category: str | None = None
    evidence: frozenset[str] = frozenset()
    answer: str | int | float | None = None


def without_ids(answer: str | float | None, ids: Iterable[str]) -> str:
    """Return the answer as text without ids of documents, which some labels hold and no user would say."""
    text = "" if answer is None else str(answer)
    known = "|".join(re.escape(document_id) for document_id in ids)
    return re.sub(rf"[\s,;(\[]*\b(?:{known})\b[,;)\]]*", "", text).strip()


def _question_rows(file: Path) -> Iterator[_QuestionRow]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield _QuestionRow.model_validate_json(line)
            except ValidationError as error:
                problem = error.errors()[0]
                where = ".".join(str(part) for part in problem["loc"])
                raise ConfigurationError(f"{file}:{number}: {where or 'row'}: {problem['msg']}") from error


def _documents(file: Path) -> tuple[Document, ...]:
    # A document that can't be read would make every figure a little wrong, so it ends the run.
    found: dict[str, Document] = {}
    for item in read_path(file):
        if isinstance(item, Failure):
            raise ConfigurationError(f"{item.where}: {item.reason}")
        if isinstance(item, NewEpisode) or item.external_id is None:
            raise ConfigurationError(f"{file}: every row must be a turn or passage with an id")
        if item.external_id in found:
            raise ConfigurationError(f"{file}: id {item.external_id!r} is used twice")
        found[item.external_id] = Document(item.external_id, item)
    return tuple(found.values())
