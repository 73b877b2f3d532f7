"""Which names W&B has or had, module by module; data only, so that asking for a name costs next to nothing."""

import functools
from pathlib import Path

VERSION = "0.31.0"
"""What frameworks are told that ask whether wandb is new enough; the words are those of that release."""

_TOP = """
__version__ init log finish config summary run save alert mark_preempting define_metric watch unwatch watch_called
Image Video Audio Table Html Histogram Object3D Plotly Molecule Graph Classes JoinedTable EvalTable Bokeh
ImageMask BoundingBoxes2D ArtifactTTL box3d plot plot_table
Artifact log_artifact use_artifact link_artifact upsert_artifact finish_artifact log_model use_model link_model
sweep agent controller restore log_code Run Api PublicApi InternalApi Settings Config Summary AlertLevel
Error UsageError CommError login setup teardown require join attach _attach ensure_configured
termsetup termlog termwarn termerror set_trace patched name WandbCallback WandbLogger api util errors env
data_types sdk integration integrations keras sklearn xgboost lightgbm catboost fastai gym tensorboard tensorflow
sacred jupyter docker beta wandb_run wandb_sdk wandb_config apis sweeps old cli helper viz filesync proto vendor
wandb_lib visualize run_id run_dir mode offline Callback DataFrame load_ipython_extension wandb_controller
wandb_agent jobs launch launch_add SymmetricDict hook_torch sync analytics wandb_torch magic summary_subscribe
wandb_metric wandb_summary wandb_setup wandb_helper wandb_require wandb_watch wandb_init wandb_login wandb_settings
agents pin_config_keys profiler sagemaker_auth trigger
"""
_MEDIA = """
Image Video Audio Table Html Histogram Object3D Plotly Molecule Graph Classes JoinedTable EvalTable Bokeh ImageMask
BoundingBoxes2D WBValue Media BatchableMedia box3d Node Edge PartitionedTable SavedModel TableKey ForeignKey
TableIndex ForeignIndex WBHistogram _numpy_arrays_to_lists history_dict_to_json val_to_json
"""
_ERRORS = """
Error UsageError CommError AuthenticationError AuthError UnsupportedError WaitTimeoutError MailboxError LogError
LogMultiprocessError RequireError ContextCancelledError ServiceStartProcessError ServiceStartTimeoutError
WandbCoreNotAvailableError WandbServiceNotOwnedError WandbServiceConnectionError ExecutionError LaunchError
ServerResponseError HandleAbandonedError ConfigError SweepError
ArtifactStatusError ArtifactNotLoggedError ArtifactFinalizedError DockerError
"""
_PLOTS = """
custom_chart viz line scatter bar histogram confusion_matrix roc_curve pr_curve line_series plot_table CustomChart
Visualize
"""
KERAS = "WandbCallback WandbMetricsLogger WandbModelCheckpoint WandbEvalCallback"
_PUBLIC = """
Api Run Runs Project Projects File Files Sweep Sweeps Artifact Artifacts ArtifactCollection ArtifactCollections
ArtifactFiles ArtifactType ArtifactTypes ProjectArtifactCollections RunArtifacts Job QueuedRun RunQueue Reports
BetaReport QueryGenerator RunNotFoundError Team Member User Organization Registry Registries
"""
_SKLEARN = """
plot_classifier plot_clusterer plot_regressor plot_summary_metrics plot_learning_curve plot_feature_importances
plot_confusion_matrix plot_roc plot_precision_recall plot_class_proportions plot_calibration_curve plot_elbow_curve
plot_silhouette plot_residuals plot_outlier_candidates plot_decision_boundaries plot_heatmap summary_metrics
model_selection metrics calculate shared
"""
_UTIL = """
generate_id from_human_size to_human_size to_bytes json_dumps_safer json_dumps_safer_history json_friendly
json_friendly_val make_json_if_not_number maybe_compress_summary maybe_compress_history get_module VALUE_BYTES_LIMIT
is_numpy_array is_matplotlib_typename is_pytorch_tensor is_tf_tensor is_jax_tensor is_pandas_data_frame
np _get_python_type coalesce make_safe_for_json sentry_set_scope vendor_setup vendor_import random_string
get_full_typename isinstance auto_project_name class_colors add_import_hook unsupported_kwargs image_from_docker_args
downsample_tensor download_file_from_url download_file_into_memory mkdir_exists_ok _is_py_requirements_or_dockerfile
POW_10_BYTES POW_2_BYTES async_call has_num is_wandb_file ensure_matplotlib_figure convert_plots matplotlib_to_plotly
launch_browser no_retry_auth check_retry_fn make_docker_image_name_safe parse_sweep_id to_forward_slash_path
get_module_names import_module_lazy LazyModule
"""
_VARIABLES = """
AGENT_DISABLE_FLAPPING AGENT_KILL_DELAY AGENT_MAX_INITIAL_FAILURES AGENT_REPORT_INTERVAL ANONYMOUS API_KEY
APP_URL ARGS ARTIFACT_DIR ARTIFACT_FETCH_FILE_URL_BATCH_SIZE BASE_URL CACHE_DIR CONFIG_DIR CONFIG_PATHS
CORE_DEBUG CRASH_NOSYNC_TIME CREDENTIALS_FILE DATA_DIR DEBUG DESCRIPTION DIR DISABLED DISABLE_CODE DISABLE_GIT
DISABLE_SSL DOCKER ENABLE_DCGM_PROFILING ENTITY ERROR_REPORTING FILE_PUSHER_TIMEOUT GIT_COMMIT GIT_REMOTE_URL
GIT_ROOT HOST HTTP_TIMEOUT IDENTITY_TOKEN_FILE IGNORE INITED INIT_TIMEOUT JOB_TYPE JUPYTER LAUNCH_QUEUE_ENTITY
LAUNCH_QUEUE_NAME LAUNCH_TRACE_ID MAGIC MODE NAME NOTEBOOK_NAME NOTES ORGANIZATION PROGRAM PROJECT QUIET RESUME
RUN_DIR RUN_GROUP RUN_ID RUN_STORAGE_ID SAVE_CODE SERVICE SHOW_RUN SILENT SWEEP_ID SWEEP_PARAM_PATH TAGS
USERNAME USER_EMAIL USE_V1_ARTIFACTS _EXECUTABLE
"""
_ENV = """
immutable_keys is_debug is_offline is_quiet is_silent error_reporting_enabled core_debug ssl_disabled
dcgm_profiling_enabled get_error_reporting get_run get_args get_docker get_http_timeout get_file_pusher_timeout
get_ignore get_project get_username get_user_email get_entity get_organization get_base_url get_app_url
get_show_run get_description get_tags get_dir get_config_paths get_agent_report_interval get_agent_kill_delay
get_crash_nosync_time get_magic get_data_dir get_artifact_dir get_artifact_fetch_file_url_batch_size
get_cache_dir get_use_v1_artifacts get_agent_max_initial_failures set_entity set_project should_save_code
disable_git get_launch_queue_name get_launch_queue_entity get_launch_trace_id get_credentials_file strtobool
"""
_LIB = """
RunDisabled SummaryDisabled disabled telemetry runid config_util ipython printer paths filesystem module config
file_stream lazyloader apikey server git gitlib hashutil proto_util import_hooks redirect timed_input timer tracelog
wburls json_util retry preinit deprecate credentials service_connection service_token sparkline viz
run_moment gql_request
"""

MODULES: dict[str, str] = {
    "wandb": _TOP,
    "wandb.errors": _ERRORS + "errors term links util warnings",
    "wandb.errors.errors": _ERRORS,
    "wandb.errors.term": "termlog termwarn termerror termsetup terminput can_use_terminput dynamic_text",
    "wandb.util": _UTIL,
    "wandb.env": _VARIABLES + _ENV,
    "wandb.agents": "pyagent",
    "wandb.agents.pyagent": "Agent Job RunStatus pyagent is_running",
    "wandb.data_types": _MEDIA,
    "wandb.plot": _PLOTS,
    "wandb.keras": KERAS,
    "wandb.sklearn": _SKLEARN,
    "wandb.sklearn.model_selection": "KFold StratifiedKFold TimeSeriesSplit RepeatedKFold",
    "wandb.sklearn.metrics": "confusion_matrix",
    "wandb.xgboost": "WandbCallback wandb_callback",
    "wandb.lightgbm": "wandb_callback log_summary",
    "wandb.catboost": "WandbCallback log_summary",
    "wandb.fastai": "WandbCallback",
    "wandb.gym": "monitor",
    "wandb.tensorboard": "patch log unpatch",
    "wandb.tensorflow": "WandbHook log",
    "wandb.sacred": "WandbObserver",
    "wandb.jupyter": "notebook_metadata quiet Notebook WandBMagics",
    "wandb.docker": "",
    "wandb.beta": "workflows",
    "wandb.wandb_run": "Run RunStatus",
    "wandb.wandb_sdk": "wandb_artifacts wandb_run data_types lib",
    "wandb.wandb_sdk.wandb_artifacts": "get_artifacts_cache Artifact",
    "wandb.wandb_config": "Config",
    "wandb.api": "api_key Api InternalApi PublicApi settings viewer default_entity default_settings",
    "wandb.apis": "public internal reports CommError PublicApi InternalApi importers normalize attrs paginator",
    "wandb.apis.public": _PUBLIC + "api artifacts files jobs projects query_generator reports runs sweeps teams users",
    "wandb.apis.public.api": "Api",
    "wandb.apis.public.runs": "Run Runs RunNotFoundError",
    "wandb.apis.public.files": "File Files",
    "wandb.apis.public.projects": "Project Projects",
    "wandb.apis.public.sweeps": "Sweep Sweeps",
    "wandb.apis.public.artifacts": """
        Artifacts ArtifactCollection ArtifactCollections ArtifactFiles ArtifactType ArtifactTypes RunArtifacts
        ProjectArtifactCollections""",
    "wandb.apis.public.jobs": "Job QueuedRun RunQueue",
    "wandb.apis.public.reports": "Reports BetaReport",
    "wandb.apis.public.query_generator": "QueryGenerator",
    "wandb.apis.public.teams": "Team Member",
    "wandb.apis.public.users": "User",
    "wandb.apis.normalize": "normalize_exceptions",
    "wandb.apis.attrs": "Attrs",
    "wandb.apis.paginator": "Paginator SizedPaginator",
    "wandb.apis.internal": "Api",
    "wandb.apis.reports": "Report PanelGrid LinePlot RunSet Runset v1 v2 H1 H2 P",
    "wandb.apis.importers": "",
    "wandb.sweeps": "config",
    "wandb.sweeps.config": "tune hyperopt",
    "wandb.sweeps.config.tune": "run suggest",
    "wandb.sweeps.config.tune.suggest": "hyperopt",
    "wandb.sweeps.config.tune.suggest.hyperopt": "HyperOptSearch",
    "wandb.sweeps.config.hyperopt": "hp",
    "wandb.old": "summary settings core",
    "wandb.old.summary": "Summary",
    "wandb.cli": "cli",
    "wandb.cli.cli": "cli",
    "wandb.helper": "parse_config",
    "wandb.viz": "custom_chart CustomChart Visualize create_custom_chart",
    "wandb.proto": "wandb_internal_pb2 wandb_settings_pb2 wandb_telemetry_pb2 wandb_server_pb2",
    "wandb.integration": """
        keras sb3 xgboost lightgbm catboost fastai gym tensorboard tensorflow sklearn torch sacred ultralytics
        huggingface diffusers openai cohere langchain metaflow kfp prodigy sagemaker ray lightning yolov8 magic dspy
        weave""",
    "wandb.integration.keras": f"{KERAS} callbacks keras",
    "wandb.integration.keras.callbacks": f"{KERAS} metrics_logger model_checkpoint tables_builder",
    "wandb.integration.keras.keras": "WandbCallback patch_tf_keras",
    "wandb.integration.sb3": "WandbCallback sb3",
    "wandb.integration.sb3.sb3": "WandbCallback",
    "wandb.integration.xgboost": "WandbCallback wandb_callback xgboost",
    "wandb.integration.xgboost.xgboost": "WandbCallback wandb_callback MINIMIZE_METRICS MAXIMIZE_METRICS",
    "wandb.integration.catboost.catboost": "WandbCallback log_summary",
    "wandb.integration.keras.callbacks.metrics_logger": "WandbMetricsLogger",
    "wandb.integration.keras.callbacks.model_checkpoint": "WandbModelCheckpoint",
    "wandb.integration.keras.callbacks.tables_builder": "WandbEvalCallback",
    "wandb.integration.ultralytics.callback": "add_wandb_callback WandBUltralyticsCallback",
    "wandb.integration.tensorboard.monkeypatch": "patch unpatch",
    "wandb.plot.custom_chart": "CustomChart plot_table",
    "wandb.plot.viz": "Visualize visualize",
    "wandb.integration.lightgbm": "wandb_callback log_summary",
    "wandb.integration.catboost": "WandbCallback log_summary catboost",
    "wandb.integration.fastai": "WandbCallback",
    "wandb.integration.gym": "monitor",
    "wandb.integration.tensorboard": "patch log unpatch monkeypatch tf_summary_to_dict reset_state",
    "wandb.integration.tensorflow": "WandbHook log",
    "wandb.integration.sklearn": _SKLEARN,
    "wandb.integration.torch": "wandb_torch",
    "wandb.integration.sacred": "WandbObserver",
    "wandb.integration.ultralytics": "add_wandb_callback WandBUltralyticsCallback callback",
    "wandb.integration.yolov8": "add_callbacks",
    "wandb.integration.huggingface": "autolog",
    "wandb.integration.diffusers": "autolog",
    "wandb.integration.openai": "autolog",
    "wandb.integration.openai.fine_tuning": "WandbLogger",
    "wandb.integration.cohere": "autolog",
    "wandb.integration.langchain": "WandbTracer",
    "wandb.integration.lightning": "fabric",
    "wandb.integration.lightning.fabric": "WandbLogger",
    "wandb.integration.metaflow": "wandb_log wandb_track wandb_use",
    "wandb.integration.kfp": "wandb_log",
    "wandb.integration.prodigy": "upload_dataset",
    "wandb.integration.sagemaker": "sagemaker_auth",
    "wandb.sdk": """
        init login setup teardown finish Config Settings Artifact AlertLevel Summary Run lib data_types artifacts
        wandb_run wandb_init wandb_config wandb_settings wandb_summary wandb_login wandb_setup wandb_watch wandb_sweep
        wandb_alerts wandb_metric wandb_helper wandb_require wandb_sync wandb_artifacts interface internal
        controller require sweep integration_utils launch mailbox helper attach _attach verify backend service
        projects""",
    "wandb.sdk.wandb_run": "Run RunStatus TeardownHook TeardownStage restore finish",
    "wandb.sdk.wandb_init": "init _WandbInit",
    "wandb.sdk.wandb_config": "Config ArtifactConfig",
    "wandb.sdk.wandb_settings": "Settings",
    "wandb.sdk.wandb_summary": "Summary SummaryDict SummarySubDict",
    "wandb.sdk.wandb_login": "login _login",
    "wandb.sdk.wandb_setup": "setup teardown singleton",
    "wandb.sdk.wandb_watch": "watch unwatch",
    "wandb.sdk.wandb_sweep": "sweep controller",
    "wandb.sdk.wandb_alerts": "AlertLevel",
    "wandb.sdk.wandb_metric": "Metric",
    "wandb.sdk.wandb_helper": "parse_config",
    "wandb.sdk.wandb_require": "require",
    "wandb.sdk.wandb_artifacts": "Artifact get_artifacts_cache",
    "wandb.sdk.integration_utils": "data_logging auto_logging",
    "wandb.sdk.integration_utils.data_logging": "ValidationDataLogger",
    "wandb.sdk.interface": "interface artifacts",
    "wandb.sdk.internal": "internal_api",
    "wandb.sdk.internal.internal_api": "Api",
    "wandb.sdk.launch": "launch launch_add load_wandb_config manage_config_file sweeps",
    "wandb.sdk.mailbox": "mailbox mailbox_handle Mailbox ServerResponseError HandleAbandonedError",
    "wandb.sdk.mailbox.mailbox_handle": "ServerResponseError HandleAbandonedError MailboxHandle",
    "wandb.sdk.helper": "",
    "wandb.sdk.artifacts": """
        artifact artifact_file_cache get_artifact_file_cache artifact_ttl artifact_state exceptions artifact_manifest
        artifact_manifest_entry artifact_download_logger staging""",
    "wandb.sdk.artifacts.artifact": "Artifact",
    "wandb.sdk.artifacts.artifact_file_cache": "get_artifact_file_cache ArtifactFileCache",
    "wandb.sdk.artifacts.artifact_ttl": "ArtifactTTL",
    "wandb.sdk.artifacts.artifact_state": "ArtifactState",
    "wandb.sdk.data_types": "base_types helper_types image video audio table html histogram object_3d plotly "
    "molecule graph bokeh saved_model trace_tree utils _dtypes",
    "wandb.sdk.data_types.base_types": "wb_value media json_metadata",
    "wandb.sdk.data_types.base_types.wb_value": "WBValue",
    "wandb.sdk.data_types.base_types.media": "Media BatchableMedia",
    "wandb.sdk.data_types.helper_types": "bounding_boxes_2d classes image_mask",
    "wandb.sdk.data_types.helper_types.bounding_boxes_2d": "BoundingBoxes2D",
    "wandb.sdk.data_types.helper_types.classes": "Classes",
    "wandb.sdk.data_types.helper_types.image_mask": "ImageMask",
    "wandb.sdk.data_types.image": "Image",
    "wandb.sdk.data_types.video": "Video",
    "wandb.sdk.data_types.audio": "Audio",
    "wandb.sdk.data_types.table": "Table JoinedTable",
    "wandb.sdk.data_types.html": "Html",
    "wandb.sdk.data_types.histogram": "Histogram",
    "wandb.sdk.data_types.object_3d": "Object3D box3d",
    "wandb.sdk.data_types.plotly": "Plotly",
    "wandb.sdk.data_types.molecule": "Molecule",
    "wandb.sdk.data_types.graph": "Graph Node Edge",
    "wandb.sdk.data_types.bokeh": "Bokeh",
    "wandb.sdk.data_types.saved_model": "",
    "wandb.sdk.data_types.trace_tree": "Trace WBTraceTree",
    "wandb.sdk.data_types.utils": "history_dict_to_json val_to_json",
    "wandb.sdk.data_types._dtypes": "",
    "wandb.sdk.lib": _LIB,
    "wandb.sdk.lib.disabled": "RunDisabled SummaryDisabled",
    "wandb.sdk.lib.telemetry": "context TelemetryRecord TelemetryImports",
    "wandb.sdk.lib.runid": "generate_id generate_fast_id",
    "wandb.sdk.lib.config_util": "ConfigError load_config_file dict_from_config_file",
    "wandb.sdk.lib.ipython": "in_jupyter in_notebook in_ipython python_type",
    "wandb.sdk.lib.printer": "new_printer get_printer Printer INFO WARNING ERROR",
    "wandb.sdk.lib.paths": "LogicalPath FilePathStr StrPath URIStr",
    "wandb.sdk.lib.filesystem": "mkdir_exists_ok mkdir_allow_fallback check_exists",
    "wandb.sdk.lib.module": "set_global unset_globals",
    "wandb.sdk.lib.apikey": "api_key write_key prompt_api_key",
    "wandb.sdk.lib.config": "",
    "wandb.sdk.lib.preinit": "PreInitObject PreInitCallable",
    "wandb.sdk.lib.deprecate": "deprecate Deprecated",
    "wandb.sdk.lib.lazyloader": "LazyLoader",
    "wandb.sdk.lib.json_util": "dump dumps load loads",
    "wandb.sdk.lib.hashutil": "md5_string md5_file_b64 md5_file_hex b64_to_hex_id hex_to_b64_id B64MD5 HexMD5",
    "wandb.sdk.lib.filenames": """
        CONFIG_FNAME OUTPUT_FNAME DIFF_FNAME SUMMARY_FNAME METADATA_FNAME REQUIREMENTS_FNAME HISTORY_FNAME EVENTS_FNAME
        is_wandb_file""",
    "wandb.sdk.lib.import_hooks": "register_post_import_hook",
    "wandb.sdk.lib.gitlib": "GitRepo",
    "wandb.sdk.lib.server": "Server",
    "wandb.sdk.lib.redirect": "Redirect StreamWrapper StreamRawWrapper",
    "wandb.sdk.lib.retry": "Retry retriable TransientError ExponentialBackoff",
    "wandb.sdk.lib.timer": "Timer",
    "wandb.sdk.lib.timed_input": "timed_input",
    "wandb.trigger": "call register unregister reset",
    "wandb.sdk.artifacts.exceptions": "ArtifactStatusError ArtifactNotLoggedError ArtifactFinalizedError",
    "wandb.sdk.artifacts.artifact_manifest": "ArtifactManifest",
    "wandb.sdk.artifacts.artifact_manifest_entry": "ArtifactManifestEntry",
    "wandb.sdk.artifacts.artifact_download_logger": "ArtifactDownloadLogger",
    "wandb.sdk.artifacts.staging": "get_staging_dir",
    "wandb.sdk.data_types.eval_table": "EvalTable",
}
"""The names of each module that can be imported. A name that is a module's as well is that module."""

ALIASES = {"wandb.integrations": "wandb.integration"}

_CALLS = "holter.wandb_door.calls"
_UTILS = "holter.wandb_door.utilities"
_ERR = "holter.wandb_door.foreign_errors"
_RUNS = "holter.wandb_door.runs"
HOMES: dict[str, str] = {
    **dict.fromkeys(
        "login setup teardown require join attach _attach ensure_configured termsetup termlog termwarn termerror "
        "restore log_code set_trace terminput can_use_terminput api_key parse_config "
        "link_artifact upsert_artifact finish_artifact pin_config_keys".split(),
        _CALLS,
    ),
    **dict.fromkeys("Settings AlertLevel".split(), "holter.wandb_door.settings"),
    **dict.fromkeys("plot_table visualize Classes JoinedTable".split(), "holter.wandb_door.charts"),
    **dict.fromkeys("RunDisabled SummaryDisabled Config Summary Metric".split(), _RUNS),
    **dict.fromkeys("Api PublicApi Runs".split(), "holter.wandb_door.api"),
    **dict.fromkeys(_ERRORS.split(), _ERR),
    **dict.fromkeys(
        "generate_id generate_fast_id from_human_size to_human_size json_dumps_safer json_dumps_safer_history "
        "json_friendly json_friendly_val get_module is_numpy_array is_pytorch_tensor is_tf_tensor is_pandas_data_frame "
        "get_full_typename make_safe_for_json coalesce mkdir_exists_ok random_string in_jupyter in_notebook in_ipython "
        "python_type context LogicalPath POW_10_BYTES POW_2_BYTES VALUE_BYTES_LIMIT to_forward_slash_path".split(),
        _UTILS,
    ),
}
"""Where a name of W&B's lies that holter itself has not. The same name means the same thing in all of its modules."""

CONSTANTS: dict[str, object] = {
    "wandb.__version__": VERSION,
    "wandb.watch_called": False,
    "wandb.patched": {"tensorboard": [], "keras": [], "gym": []},
    "wandb.name": "wandb",
    **{f"wandb.env.{name}": f"WANDB_{name}" for name in _VARIABLES.split()},
}

INSTEAD: dict[str, str] = {
    **dict.fromkeys("Report reports".split(), "the page's views and notes show what a report would"),
    **dict.fromkeys("launch launch_add".split(), "`holter run -- CMD` starts a program"),
    "WandbTracer": "log() takes what a chain answered as text or a table",
}
"""What to use in place of a name that does nothing here."""


@functools.cache
def names_of(module: str) -> frozenset[str]:
    """The names of a module of W&B's that programs are known to use, in any release."""
    return frozenset(MODULES.get(module, "").split())


@functools.cache
def names_of_release() -> dict[str, frozenset[str]]:
    """All other names of that release by module; few ask for them, so they are read only then."""
    lines = Path(__file__).with_name("names_of_release.txt").read_text(encoding="utf-8").splitlines()
    return {module: frozenset(names.split()) for module, _, names in (line.partition(":") for line in lines)}
