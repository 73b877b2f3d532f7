"""What a user or a group may keep on a file system."""

import msgspec

NAN = float("nan")


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes, or files, or both are limited: NaN stands for what is not."""

    path: str
    """Where its file system is mounted."""
    group: str = ""
    """The name of the group that shares it; empty for the user's own."""
    total_bytes: float = NAN
    free_bytes: float = NAN
    free_inodes: float = NAN

    @property
    def name(self) -> str:
        """`your quota on /data`, `the quota of group vision on /data`."""
        return f"{f'the quota of group {self.group}' if self.group else 'your quota'} on {self.path}"

    @property
    def advice(self) -> tuple[str, str]:
        """What makes room in it, and who can make it larger."""
        whose = f"yours and others of group {self.group}" if self.group else "yours"
        return (
            f"delete old checkpoints, caches and environments of {whose} anywhere on {self.path}",
            f"ask who runs this machine for a larger quota, or write to a file system other than {self.path}",
        )
