"""One file of named arrays with a JSON header: written whole or not at all, and checked before it is used.

The format is safetensors. Its metadata has one entry, ``alx``: a JSON object with the kind of file, a
format version, the versions of the packages that wrote it and a SHA-256 over all of that and every array,
so that a flipped bit is an error and never a wrong policy. Nothing in a file is ever executed.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from alx.io.provenance import versions

__all__ = ["Spec", "digest", "read", "read_text", "write", "write_bytes"]

FORMAT = 1
HEADER_LIMIT = 4 << 20
TEXT_LIMIT = 64 << 20
DTYPES = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8"), "I64": np.dtype("<i8"), "BOOL": np.dtype("bool")}
Spec = dict[str, tuple[str, tuple[int, ...]]]  # tensor name -> (safetensors dtype, shape)


def write(path: str | os.PathLike, kind: str, meta: dict, tensors: dict[str, np.ndarray]) -> None:
    """Write ``tensors`` and the JSON object ``meta`` to ``path``, atomically."""
    header = {"format": FORMAT, "kind": kind, "versions": versions(), **meta}
    header = json.loads(json.dumps(header))
    header["sha256"] = digest(header, tensors)
    text = json.dumps(header, sort_keys=True)
    if len(text) > HEADER_LIMIT // 4:
        raise ValueError(f"the record is too long for {path}: {len(text)} characters of {HEADER_LIMIT // 4}")
    tensors = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    write_bytes(path, safetensors.numpy.save(tensors, {"alx": text}))


def write_bytes(path: str | os.PathLike, data: bytes) -> None:
    """Write a file atomically: a reader sees the old file or the new one, even after a power cut."""
    path = Path(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    if os.name == "posix":
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read(
    path: str | os.PathLike, kind: str, expected: Callable[[dict], Spec]
) -> tuple[dict, dict[str, np.ndarray]]:
    """Read a file of this kind: its metadata and its arrays.

    ``expected`` says from the metadata which arrays the file has to hold; that is compared with the file's
    header and size before any of them is read. Every failure is a ValueError of one sentence.
    """
    try:
        return _read(Path(path), kind, expected)
    except ValueError as error:
        raise ValueError(f"{path} is not a {kind} file that alx can read: {error}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None


def _read(path: Path, kind: str, expected: Callable[[dict], Spec]):
    if not path.is_file():  # a pipe would block for ever
        raise ValueError("there is no such file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(HEADER_LIMIT, size - 8):
            raise ValueError("its header is missing or cut short")
        entries = _json_object(file.read(length), "header")
        meta = _checked_meta(entries.pop("__metadata__", None), kind)
        spec = expected(meta)
        offsets = _checked_entries(entries, spec)
        total = sum(_nbytes(*spec[name]) for name in spec)
        if size != 8 + length + total:
            raise ValueError(f"it has {size} bytes where {8 + length + total} are expected")
        data = file.read(total)
    if len(data) != total:
        raise ValueError("it was cut short while it was read")
    tensors = {
        name: np.frombuffer(data, DTYPES[dtype], int(np.prod(shape)), offsets[name]).reshape(shape)
        for name, (dtype, shape) in spec.items()
    }
    checksum = meta.pop("sha256", None)
    if checksum != digest(meta, tensors):
        raise ValueError("its checksum does not match, so it was changed or damaged after it was written")
    return meta, tensors


def _json_object(text: str | bytes, what: str) -> dict:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"its {what} is not JSON") from None
    if not isinstance(value, dict):
        raise ValueError(f"its {what} is not a JSON object")
    return value


def _checked_meta(metadata: Any, kind: str) -> dict:
    if not isinstance(metadata, dict) or not isinstance(metadata.get("alx"), str):
        raise ValueError("its header lacks the metadata of alx")
    meta = _json_object(metadata["alx"], "metadata")
    if meta.get("kind") != kind:
        raise ValueError(f"it is of the kind {str(meta.get('kind'))[:40]!r}")
    if meta.get("format") != FORMAT:
        raise ValueError(f"its format is {str(meta.get('format'))[:40]} and this alx reads format {FORMAT}")
    return meta


def _checked_entries(entries: dict, spec: Spec) -> dict[str, int]:
    """The place of each expected array; they have to lie one after the other without gaps."""
    if entries.keys() != spec.keys():
        odd = sorted(str(name)[:40] for name in entries.keys() ^ spec.keys())[0]
        raise ValueError(f"its arrays are not those its config asks for, for one {odd!r}")
    places = {}
    for name, (dtype, shape) in spec.items():
        entry = entries[name]
        if not isinstance(entry, dict) or (entry.get("dtype"), entry.get("shape")) != (dtype, list(shape)):
            raise ValueError(f"its array {name!r} is not of type {dtype} and shape {list(shape)}")
        match entry.get("data_offsets"):
            case [int(begin), int(end)] if end - begin == _nbytes(dtype, shape):
                places[name] = begin, end
            case _:
                raise ValueError(f"its array {name!r} has the wrong length")
    reached = 0
    for begin, end in sorted(places.values()):
        if begin != reached:
            raise ValueError("its arrays overlap or leave gaps")
        reached = end
    return {name: begin for name, (begin, _) in places.items()}


def _nbytes(dtype: str, shape: tuple[int, ...]) -> int:
    count = DTYPES[dtype].itemsize
    for length in shape:  # in Python's integers, which cannot overflow
        count *= length
    return count


def read_text(path: str | os.PathLike) -> str:
    """A user's text file, without the byte order mark that spreadsheets put before it."""
    with open(path, "rb") as file:
        data = file.read(TEXT_LIMIT + 1)
    if len(data) > TEXT_LIMIT:
        raise ValueError(f"{path} has more than the {TEXT_LIMIT >> 20} MB that alx reads")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file in UTF-8") from None


def digest(header: dict, tensors: dict[str, np.ndarray]) -> str:
    hashed = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        value = np.ascontiguousarray(tensors[name])
        hashed.update(f"{name} {value.dtype} {value.shape}".encode())
        hashed.update(value.tobytes())
    return hashed.hexdigest()
