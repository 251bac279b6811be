"""The graph as neomodel classes, for applications that want objects; the schema belongs to `cypher/schema`.

Set `neomodel.get_config().database_url` first. These are for reading and for following links: writes go
through `FluxMem` or `CALL fluxmem.*`, which keep the log and the vectors.
"""

from neomodel import (
    ArrayProperty,
    BooleanProperty,
    DateTimeNeo4jFormatProperty,
    FloatProperty,
    IntegerProperty,
    RelationshipFrom,
    RelationshipTo,
    StringProperty,
    StructuredNode,
    StructuredRel,
)


class Entity(StructuredNode):
    """A name that facts mention."""

    namespace = StringProperty(required=True)
    key = StringProperty(required=True)
    name = StringProperty()
    mentioned_by = RelationshipFrom("Semantic", "MENTIONS")
    subject_of = RelationshipFrom("Semantic", "ABOUT")


class Source(StructuredNode):
    """Where facts came from."""

    namespace = StringProperty(required=True)
    uri = StringProperty(required=True)
    memories = RelationshipFrom("Semantic", "FROM")


class Learned(StructuredRel):
    """What feedback taught a link: `weight` in 0..1, of the votes for and against it."""

    weight = FloatProperty()
    successes = FloatProperty()
    failures = FloatProperty()
    tentative = BooleanProperty()


class Memory(StructuredNode):
    """Anything retrievable."""

    namespace = StringProperty(required=True)
    memory_id = StringProperty(db_property="id", required=True)
    key = StringProperty(required=True)
    external_id = StringProperty()
    layer = StringProperty()
    name = StringProperty()
    content = StringProperty()
    status = StringProperty()
    version = IntegerProperty()
    recorded_from = DateTimeNeo4jFormatProperty()
    tags = ArrayProperty(StringProperty())
    former = RelationshipTo("Memory", "SUPERSEDES")
    associated = RelationshipTo("Memory", "ASSOCIATED", model=Learned)


class Semantic(Memory):
    """A fact, message or passage."""

    source = StringProperty()
    session = StringProperty()
    speaker = StringProperty()
    occurred_at = DateTimeNeo4jFormatProperty()
    mentions = RelationshipTo("Entity", "MENTIONS")
    about = RelationshipTo("Entity", "ABOUT")
    sources = RelationshipTo("Source", "FROM")
    next = RelationshipTo("Semantic", "NEXT")
    supports = RelationshipTo("Episodic", "SUPPORTS", model=Learned)


class Episodic(Memory):
    """One run of a task."""

    task = StringProperty()
    success = FloatProperty()
    outcome = StringProperty()
    started_at = DateTimeNeo4jFormatProperty()
    ended_at = DateTimeNeo4jFormatProperty()
    steps = RelationshipTo("Step", "HAS_STEP")
    skills = RelationshipTo("Procedural", "DISTILLED_INTO")


class Procedural(Memory):
    """One version of a skill; `skill_id` is the same in all."""

    skill_id = StringProperty()
    when_to_use = StringProperty()
    skill_steps = ArrayProperty(StringProperty(), db_property="steps")
    pitfalls = ArrayProperty(StringProperty())
    pems = FloatProperty()
    pems_success = FloatProperty()
    pems_length = IntegerProperty()
    pems_drift = FloatProperty()
    review = StringProperty()
    run_id = StringProperty()
    distilled_from = RelationshipFrom("Episodic", "DISTILLED_INTO")


class Step(StructuredNode):
    """One observation and action of an episode."""

    namespace = StringProperty(required=True)
    step_id = StringProperty(db_property="id", required=True)
    index = IntegerProperty()
    observation = StringProperty()
    action = StringProperty()
    feedback = StringProperty()
    next = RelationshipTo("Step", "NEXT")
    activated = RelationshipTo("Memory", "ACTIVATED")
