"""Artifacts and checkpoints of a run: each method delegates to code that is loaded when it is used."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holter.client.described_run import DescribedRun

if TYPE_CHECKING:
    from holter.artifacts.artifact import Artifact
    from holter.artifacts.checkpoints import Checkpoint


class ArtifactRun(DescribedRun):
    """What a run keeps as versions, takes from versions, and can go on from. `Run` says how a record is kept."""

    id: str
    server: str
    has_known_id: bool

    def remark(self, text: str) -> None:
        """Say something about the run that its user should know, once."""
        raise NotImplementedError

    def log_artifact(
        self,
        artifact_or_path: Any,
        name: str | None = None,
        type: str | None = None,  # noqa: A002  W&B's word
        aliases: Any = None,
        tags: Any = None,
        **others: Any,
    ) -> "Artifact":
        """Keep files as a version; returns at once, and the version exists when all of it is on the disk.

        Args:
            artifact_or_path: a `holter.Artifact`, a file, a folder or an address such as s3://…
            name: left out, the file's and the run's id.
            type: left out, `unspecified`.
            aliases: names that move to this version, beside `latest`.
        """
        from holter.client.artifact_calls import log_to

        return log_to(self, artifact_or_path, name, type_=type, aliases=aliases, others={**others, "tags": tags})

    def use_artifact(
        self,
        artifact_or_name: Any,
        type: str | None = None,  # noqa: A002  W&B's word
        aliases: Any = None,
        use_as: str | None = None,
        **others: Any,
    ) -> "Artifact":
        """A version as the input of this run: `model:best`, `project/name:v3`. Raises NoArtifact."""
        from holter.client.artifact_uses import use_in

        return use_in(self, artifact_or_name, type_=type, others={**others, "aliases": aliases, "use_as": use_as})

    def log_model(self, path: Any, name: str | None = None, aliases: Any = None) -> "Artifact":
        """Keep a model's file or folder as a version of type `model`."""
        return self.log_artifact(path, name, type="model", aliases=aliases)

    def use_model(self, name: str) -> str:
        """Get a model; returns the path of its file, or of its folder where it has several. Raises NoArtifact."""
        from holter.client.artifact_calls import model_path

        return model_path(self.use_artifact(name))

    def link_model(
        self, path: Any, registered_model_name: str, name: str | None = None, aliases: Any = None
    ) -> "Artifact":
        """Keep a model under a second name, too, with these aliases there; nothing is stored twice."""
        from holter.client.artifact_calls import link_to

        return link_to(self, path, registered_model_name, name=name, aliases=aliases)

    def checkpoint(
        self,
        path_or_state: Any,
        step: int | None = None,
        *,
        metrics: Mapping[str, Any] | None = None,
        **rule: Any,
    ) -> str:
        """Keep a checkpoint, so that the run can go on from it; returns its path, empty where it could not be kept.

        Args:
            path_or_state: a file or folder that is written already, or what is to be written to one.
            step: left out, the last one that was logged.
            metrics: by which the best one is known.
            rule: `keep=5` of the newest, `best="loss"` beside them, `mode="min"` or "max", `policy`; `artifact=False`
                keeps no copy.
        """
        from holter.client.checkpoints import checkpoint_of

        return checkpoint_of(self, path_or_state, step, metrics=metrics, rule=rule)

    def last_checkpoint(self) -> "Checkpoint | None":
        """The newest whole checkpoint of this run, of an earlier attempt too; None where there is none."""
        from holter.client.checkpoints import last_of

        return last_of(self)

    @property
    def dir(self) -> str:
        """Where the run lies on this machine."""
        raise NotImplementedError

    @property
    def step(self) -> int:
        """The step that a `log()` without one would get."""
        raise NotImplementedError

    @property
    def attempt(self) -> int:
        """Which one of the run's this is."""
        raise NotImplementedError

    def report(self, doing: str, error: Exception) -> None:
        """Count a failure of ours and say it once."""
        raise NotImplementedError
