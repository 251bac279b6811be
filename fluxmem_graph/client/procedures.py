"""Skills: made of episodes, reviewed, compared, rolled back."""

from functools import cached_property

from fluxmem_graph.client.base import Connected
from fluxmem_graph.operations.skills import Skills
from fluxmem_graph.stages.alignment import Redact
from fluxmem_graph.stages.consolidation import Consolidator, Progress
from fluxmem_graph.stages.induction import Inducer
from fluxmem_graph.stages.replaying import Replay
from fluxmem_graph.types import Consolidation, Skill


class Procedures(Connected):
    """The part of the façade about skills."""

    @cached_property
    def _skills(self) -> Skills:
        return Skills(self.database, self.namespace, self.actor)

    def consolidate(
        self,
        *,
        apply: bool = False,
        approve: bool = False,
        at_least: int = 0,
        replay: Replay | None = None,
        redact: Redact | None = None,
        progress: Progress | None = None,
    ) -> Consolidation:
        """Cluster the ended episodes and make skills of them, or only plan it (section 3.3).

        Without `apply` nothing changes. New versions wait for review, unless `approve`. Nothing is done while
        fewer than `at_least` episodes ended since the last time. `replay(skill, episode)` is the agent's own
        function: it tries a skill on the task of an episode and returns success in 0..1; skills are then
        rewritten as long as that helps. What stands under the name of a secret is always masked; `redact`
        takes other secrets out of texts before a model sees them or they are stored. Raises Conflict while
        another consolidation of the namespace runs.
        """
        settings = self.settings.consolidation
        inducer = Inducer(self.llm, settings.share, redact or str)
        return Consolidator(
            self._skills, self.embedder, self.llm, inducer, replay, settings, approve
        ).run(apply=apply, at_least=at_least, progress=progress)  # fmt: skip

    def skills(self) -> list[Skill]:
        """Return the latest version of every skill, best first."""
        return self._skills.latest()

    def skill(self, skill_id: str, version: int | None = None) -> Skill:
        """Return a version of a skill: the one in use, else the newest, unless named. Raises NotFound."""
        return self._skills.version(skill_id, version)

    def skill_versions(self, skill_id: str) -> list[Skill]:
        """Return all versions of a skill, newest first. Raises NotFound."""
        return self._skills.versions(skill_id)

    def approve_skill(self, skill_id: str, version: int | None = None, *, reason: str = "") -> Skill:
        """Give agents a version, the newest candidate unless named. Raises NotFound or Conflict."""
        return self._skills.approve(skill_id, version, reason=reason)

    def retire_skill(self, skill_id: str, *, reason: str = "") -> Skill:
        """Take a skill away from agents; its versions stay. Raises NotFound or Conflict."""
        return self._skills.retire(skill_id, reason=reason)

    def rollback_skill(self, skill_id: str, version: int | None = None, *, reason: str = "") -> Skill:
        """Give agents an earlier version again, the last approved one unless named.

        Raises NotFound or Conflict.
        """
        return self._skills.rollback(skill_id, version, reason=reason)
