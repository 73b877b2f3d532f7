"""What W&B's media have beside holter's: how W&B itself keeps them, which nobody has to ask for here."""

from typing import Any

from holter.wandb_door.inert import Inert

_LACKING = frozenset(
    """
    MAX_DIMENSION MAX_ITEMS MAX_LENGTH EXTS all_boxes all_captions all_masks bind_to_run captions cast durations
    encode file_is_set from_json get_media_subdir guess_mode has_been_logged image index_ref init_from_json inject_head
    is_bound path_is_reference resolve_ref sample_rates seq_to_json set_fk set_pk to_data_array to_json type_mapping
    with_suffix
    """.split()
)


def attribute(medium: Any, name: str) -> Any:
    """What a medium of W&B's has under a name. Raises AttributeError for what it never had."""
    kind = type(medium).__name__
    if name not in _LACKING:
        raise AttributeError(f"{kind!r} object has no attribute {name!r}")
    return Inert(f"{kind}.{name}")
