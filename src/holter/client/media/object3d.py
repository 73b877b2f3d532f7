"""`holter.Object3D`: a cloud of points, or a file with a scene."""

from collections.abc import Mapping
from typing import Any

from holter.client.media.bundle import Bundle, is_array, own_array
from holter.client.media.medium import Media, caption_of, check_file, ending_of, path_of, patient
from holter.client.values import plain_tree
from holter.errors import UsageError

ENDINGS = ("obj", "gltf", "glb", "babylon", "stl", "json", "ply")


class Object3D(Media):
    """Points (x, y, z, then a class, or r, g, b), `{"type": "lidar/beta", "points": …, "boxes": …}`, or a file."""

    kind = "object3d"

    @patient
    def __init__(self, data_or_path: Any, caption: Any = None, *, file_type: str | None = None) -> None:
        self._about: dict[str, Any] = {**caption_of(caption)}
        self._data: Any = None
        self._path = path_of(data_or_path)
        if self._path is not None:
            self._about["ending"] = ending_of(self._path)
            check_file(self._path)
        elif hasattr(data_or_path, "read"):
            content = data_or_path.read()
            self._data = content.encode() if isinstance(content, str) else bytes(content)
            self._about["ending"] = file_type or ending_of(str(getattr(data_or_path, "name", "")))
        elif isinstance(data_or_path, Mapping):
            self._take(data_or_path["points"])
            rest = {name: each for name, each in data_or_path.items() if name != "points"}
            self._about["scene"] = plain_tree(rest, lambda cause, text: None)
        else:
            self._take(data_or_path)
        if "ending" in self._about and self._about["ending"] not in ENDINGS:
            raise UsageError(f"a scene is a file that ends in {', '.join(ENDINGS)}; got {self._about['ending']!r}")

    @classmethod
    def from_point_cloud(
        cls,
        points: Any,
        boxes: Any = (),
        vectors: Any = None,
        *,
        type: str = "lidar/beta",  # noqa: A002  W&B\'s name
    ) -> "Object3D":
        """Points with boxes and arrows."""
        return cls({"type": type, "points": points, "boxes": list(boxes), "vectors": list(vectors or ())})

    def pack(self, bundle: Bundle) -> dict[str, Any]:
        """Add its bytes."""
        if self._path is not None:
            return {**self._about, "file": bundle.add_file(self._path)}
        if isinstance(self._data, bytes):
            return {**self._about, "file": bundle.add(self._data)}
        return {**self._about, "array": bundle.add_array(self._data)}

    def _take(self, points: Any) -> None:
        if not is_array(points) and not isinstance(points, list | tuple):
            raise UsageError(f"no scene can be made of a {type(points).__name__}")
        self._data = own_array(points)
        if self._data.ndim != 2 or self._data.shape[1] not in (3, 4, 6):
            raise UsageError(f"points have 3, 4 or 6 numbers each; got the shape {self._data.shape}")
