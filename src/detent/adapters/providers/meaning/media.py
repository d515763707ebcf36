"""Images and audio that a model made, as parts of its message."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping

from detent.core.chat.messages import FileContent, ImageContent

AUDIO_TYPES: Mapping[str, str] = {"mp3": "audio/mpeg", "opus": "audio/ogg", "pcm16": "audio/pcm"}
"""Of the formats whose media type is not called like them."""

DATA_URL = re.compile(r"data:([\w/+.-]+);base64,")


def image_of_url(url: str) -> ImageContent | None:
    """The image in a data URL; none where it is elsewhere.

    >>> image_of_url("data:image/png;base64,aGk="), image_of_url("https://a.org/b.png")
    (ImageContent(base64_image=<4 characters>, mime_type='image/png', detail=None, meta={}), None)
    """
    found = DATA_URL.match(url)
    return ImageContent(url[found.end() :], found[1]) if found else None


def audio_of(pieces: Iterable[str], audio_format: str) -> FileContent:
    """The sound in pieces, each of which is base64 by itself."""
    data = b64encode(b"".join(map(b64decode, pieces))).decode()
    return FileContent(data, AUDIO_TYPES.get(audio_format, f"audio/{audio_format}"))


def made_by_model(part: ImageContent | FileContent) -> str:
    """What stands for it in the history of a provider that takes none from a model."""
    return f"({part.mime_type} that the model made)"
