"""Frames that both ends of a node's channel speak: typed, length-prefixed, over one byte stream.

A frame is a header `>IB` (payload length in bytes, kind) and its payload. Kind 1 is one JSON
object in UTF-8 with a "type"; kind 2 is a log chunk: `>IQ` (stream id, offset of the first byte
in the node's file) and at most 64 KiB of raw bytes. docs/protocol.md lists the messages.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Dict, Iterator, NamedTuple, Union

PROTOCOL = 1
"""Raised when an older peer could misread a frame; both ends say theirs in `hello`."""
LAYOUT = 1
"""Version of the run directory (docs/protocol.md), which outlives every link."""

JSON_KIND = 1
CHUNK_KIND = 2
MAX_JSON = 4 * 1024 * 1024
"""Bytes of one JSON payload; a longer one is a broken or hostile peer."""
MAX_CHUNK = 64 * 1024
"""Bytes of log in one chunk."""

MAX_SLOTS = 4096
"""CPU slots of one node: more than any machine has cores, and each is looked at all the time."""

_HEADER = struct.Struct(">IB")
_CHUNK = struct.Struct(">IQ")

Message = Dict[str, Any]


class WireError(Exception):
    """The peer sent something that is no frame of this protocol."""


class Chunk(NamedTuple):
    """Bytes appended to a followed file."""

    stream: int
    offset: int
    """Bytes before `data` in the file on the node."""
    data: bytes


Frame = Union[Message, Chunk]


def encode(message: Message) -> bytes:
    """One JSON message as a frame."""
    payload = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    if len(payload) > MAX_JSON:
        raise WireError(f"a message of {len(payload)} bytes is over the limit of {MAX_JSON}")
    return _HEADER.pack(len(payload), JSON_KIND) + payload


def encode_chunk(chunk: Chunk) -> bytes:
    """One log chunk as a frame."""
    size = _CHUNK.size + len(chunk.data)
    return _HEADER.pack(size, CHUNK_KIND) + _CHUNK.pack(chunk.stream, chunk.offset) + chunk.data


class Decoder:
    """Bytes in, whole frames out; keeps what is not yet complete."""

    def __init__(self, keep_surrogates: bool = False) -> None:
        self._buffer = bytearray()
        self._keep_surrogates = keep_surrogates
        """Only for a trusted peer, whose file names and words may be any bytes: they travel as
        lone surrogates, as Python's "surrogateescape" makes them."""

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that `data` completes. Raises WireError on anything else than frames."""
        self._buffer += data
        at = 0
        try:
            while len(self._buffer) - at >= _HEADER.size:
                length, kind = _HEADER.unpack_from(self._buffer, at)
                _check(length, kind)
                end = at + _HEADER.size + length
                if len(self._buffer) < end:
                    return
                payload = bytes(self._buffer[at + _HEADER.size : end])
                at = end
                yield _decode(kind, payload, self._keep_surrogates)
        finally:
            del self._buffer[:at]


def _check(length: int, kind: int) -> None:
    limit = {JSON_KIND: MAX_JSON, CHUNK_KIND: MAX_CHUNK + _CHUNK.size}.get(kind)
    if limit is None:
        raise WireError(f"unknown frame kind {kind}")
    if length > limit:
        raise WireError(f"a frame of {length} bytes is over the limit of {limit}")


def _decode(kind: int, payload: bytes, keep_surrogates: bool) -> Frame:
    if kind == CHUNK_KIND:
        if len(payload) < _CHUNK.size:
            raise WireError("a log chunk without its header")
        stream, offset = _CHUNK.unpack_from(payload)
        return Chunk(stream, offset, payload[_CHUNK.size :])
    try:
        message = json.loads(payload.decode("utf-8", "replace"), parse_constant=_refuse_constant)
        if not keep_surrogates and b"\\ud" in payload.lower():
            message = _well_formed(message)
    except (ValueError, RecursionError) as error:
        raise WireError(f"a message that is not JSON: {error}") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise WireError("a message that is not an object with a type")
    return message


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _well_formed(value: Any) -> Any:
    """`value` with each lone surrogate replaced: no file, terminal or database takes one."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_well_formed(item) for item in value]
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(item) for key, item in value.items()}
    return value
