"""W&B's `Settings` and `AlertLevel`."""

import enum
from typing import Any

_KNOWN = frozenset(
    """
    entity project run_id run_name run_group run_job_type run_notes run_tags mode base_url api_key console resume silent
    quiet root_dir wandb_dir files_dir sync_dir sync_file log_dir log_user log_internal disabled save_code anonymous
    allow_val_change sweep_id sweep_url run_url project_url start_method init_timeout disable_git disable_code git_root
    git_remote git_commit git_branch program program_relpath host username email notebook_name reinit resumed offline
    timespec label_disable launch relogin force login_timeout max_end_of_run_history_metrics ignore_globs http_proxy
    https_proxy symlink summary_timeout table_raise_on_max_row_limit_exceeded heartbeat_seconds allow_media_symlink
    allow_offline_artifacts app_url_override azure_account_url_to_access_key capture_loggers code_dir config_paths
    console_chunk_max_bytes console_chunk_max_seconds console_multipart credentials_file disable_git_fork_point
    disable_job_creation docker finish_timeout finish_timeout_raises fork_from git_remote_url identity_token_file
    insecure_disable_ssl job_name job_source launch_config_path max_end_of_run_summary_metrics organization
    program_abspath resume_from sagemaker_disable settings_system show_colors show_emoji show_errors show_info
    show_warnings stop_fn stop_on_fatal_error strict summary_warnings sweep_param_path sync_tensorboard use_dot_wandb
    """.split()
)


class AlertLevel(enum.Enum):
    """How urgent an alert is."""

    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


class Settings:
    """What a program asks for by W&B's names: `init(settings=…)` takes what means something here, and names the rest.

    A setting of W&B's that was not given is None.
    """

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    def __getattr__(self, name: str) -> Any:
        if name in _KNOWN or (name.startswith(("_", "x_")) and not name.startswith("__")):
            return None
        raise AttributeError(f"W&B's settings have no {name!r}")

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def get(self, name: str, default: Any = None) -> Any:
        """A setting, as of a dict."""
        return vars(self).get(name, default)

    def update(self, *others: Any, **values: Any) -> None:
        """Ask for more."""
        for other in others:
            vars(self).update(other if isinstance(other, dict) else vars(other))
        vars(self).update(values)

    def to_dict(self) -> dict[str, Any]:
        """What was asked for."""
        return dict(vars(self))
