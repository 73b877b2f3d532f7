"""`s3://BUCKET/FOLDER` keeps blobs in any store that speaks S3; the names that runs have for them are with the runs.

`?endpoint=https://…` names a store other than Amazon's, `?region=` its region; keys are in the environment.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from holter.storage.objects.blobs import ObjectBlobs
    from holter.storage.objects.bucket import Bucket
    from holter.storage.tables.blob_names import BlobNames

EXTRA = "s3"
"""What installs the client, which is loaded by who opens something."""


def open_blobs(url: str, names: "Callable[[], BlobNames]") -> "ObjectBlobs":
    """The blobs."""
    from holter.storage.objects.blobs import ObjectBlobs
    from holter.storage.objects.bucket import Bucket

    bucket = Bucket(url)
    opened = names()
    try:
        return ObjectBlobs(bucket, opened)
    except BaseException:
        opened.close()
        raise


def open_bucket(url: str) -> "Bucket":
    """For whoever has objects of their own there."""
    from holter.storage.objects.bucket import Bucket

    return Bucket(url)
