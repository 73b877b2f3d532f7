"""Scenes: clouds of points as JSON, files as they are."""

from typing import Any

import msgspec
import numpy as np

from holter.model.media_records import MediaItem
from holter.model.record import Record
from holter.worker.making import ending_in, made, meta_of
from holter.worker.work import Work

ENDINGS = ("obj", "gltf", "glb", "babylon", "stl", "json", "ply")
MOST_POINTS = 2_000_000


def make(work: Work) -> list[Record]:
    """A file for each scene."""
    return made(work, make_one)


def make_one(work: Work, about: dict[str, Any]) -> MediaItem:
    """A scene of an entry."""
    meta = meta_of(about)
    if "array" not in about:
        return work.keep_part(about["file"], ending_in(about, ENDINGS), meta=meta)
    points = work.array(about["array"]).astype(np.float64)
    if len(points) > MOST_POINTS:
        work.warn(f"{len(points):,} points: every {-(-len(points) // MOST_POINTS)}th is kept")
        points = points[:: -(-len(points) // MOST_POINTS)]
    if not np.isfinite(points).all():
        work.warn("points that are nowhere (NaN or infinite) are left out")
        points = points[np.isfinite(points).all(axis=1)]
    meta |= {"points": len(points)}
    scene = {"type": "lidar/beta", **about.get("scene", {}), "points": points.tolist()}
    return work.keep(msgspec.json.encode(scene), "pts.json", meta=meta)
