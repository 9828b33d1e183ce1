"""Who uses which GPU or slot of this node: one flock a unit, freed by the death of its holder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from typing import NamedTuple, Sequence

from cockpit_node.identity import user_name
from cockpit_node.mounts import mount_of
from cockpit_node.paths import lock_directory
from cockpit_node.refused import Refused

_UNIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_TEXT_LIMIT = 2048
_TRIES = 20
_WRITE_S = 0.2
"""Between taking a lock and having written who took it, on a busy node."""


class Holder(NamedTuple):
    """What the holder of a unit wrote about itself; `cat` shows the same. Never trusted."""

    unit: str
    user: str
    name: str
    """Of the job."""
    run: str
    attempt: int
    node: str
    since: float
    """Unix time."""

    def text(self) -> str:
        """One field a line, for people and for `holders`."""
        day = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.since))
        fields = {**self._asdict(), "since": f"{self.since:.1f} ({day})"}
        return "".join(f"{key}: {_plain(str(value))}\n" for key, value in fields.items())

    def sentence(self) -> str:
        """For whoever is refused."""
        day = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(self.since))
        return f"{self.unit} is used by {self.user}'s job {self.name} since {day}"


class Leases:
    """Units held by this process; closing them, or dying, frees them."""

    def __init__(self, descriptors: Sequence[int]) -> None:
        self._descriptors = list(descriptors)

    def add(self, descriptor: int) -> None:
        self._descriptors.append(descriptor)

    def touch(self) -> None:
        """Keep the files young, so that nothing that sweeps /tmp takes them for forgotten."""
        for descriptor in self._descriptors:
            os.utime(descriptor)

    def release(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.pop())


def valid_unit(unit: object) -> bool:
    """Whether `unit` may be the name of a lock file."""
    return isinstance(unit, str) and _UNIT.fullmatch(unit) is not None


def take(holders_to_be: Sequence[Holder]) -> Leases:
    """All of the units or, raising Refused, none. In sorted order: no two takers can block."""
    directory = _open_directory(lock_directory())
    held = Leases([directory])
    try:
        # Sweepers of /tmp pass by a directory that someone holds a lock on.
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(directory, fcntl.LOCK_SH | fcntl.LOCK_NB)
        for holder in sorted(holders_to_be, key=lambda one: one.unit):
            held.add(_take_one(directory, holder))
    except BaseException:
        held.release()
        raise
    return held


def holders(units: Sequence[str] | None = None) -> dict[str, Holder]:
    """Who holds what, read without taking a lock: a look never makes a taker fail.

    Raises Refused where nobody could take a lock.
    """
    directory = lock_directory()
    if not os.path.lexists(directory):
        return {}
    os.close(_open_made(directory))
    locked = _locked_inodes(directory)
    found = {}
    for unit in sorted(os.listdir(directory)) if units is None else units:
        if not valid_unit(unit):
            continue
        text = _text_if_locked(os.path.join(directory, unit), locked)
        if text is not None:
            found[unit] = _holder(unit, text)
    return found


def is_locked(path: str) -> bool:
    """Whether any process holds a flock on `path`."""
    try:
        return os.stat(path).st_ino in _locked_inodes(path)
    except FileNotFoundError:
        return False


def _take_one(directory: int, holder: Holder) -> int:
    for _ in range(_TRIES):
        descriptor = _open_unit(directory, holder.unit)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = _text_of_taker(descriptor)
            os.close(descriptor)
            raise Refused("Busy", _holder(holder.unit, text).sentence(), retry=True) from None
        if _still_there(directory, holder.unit, descriptor):
            _write_text(descriptor, holder.text())
            return descriptor
        # Someone deleted the file between our opening and our locking it.
        os.close(descriptor)
    raise Refused("Busy", f"the lock of {holder.unit} keeps being deleted", retry=True)


def _text_of_taker(descriptor: int) -> str:
    """What the holder wrote; one that took the lock just now gets a moment to write."""
    give_up = time.monotonic() + _WRITE_S
    while True:
        text = os.pread(descriptor, _TEXT_LIMIT, 0).decode("utf-8", "replace")
        if text or time.monotonic() >= give_up:
            return text
        time.sleep(_WRITE_S / 20)


def _open_unit(directory: int, unit: str) -> int:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = _open_or_make(directory, unit, flags)
    except OSError as error:
        message = f"the lock {lock_directory()}/{unit} cannot be opened ({error.strerror})"
        raise Refused("Busy", f"{message}; ask whoever made it to remove it", retry=True) from error
    seen = os.fstat(descriptor)
    if not stat.S_ISREG(seen.st_mode) or seen.st_nlink > 1:
        os.close(descriptor)
        message = f"{lock_directory()}/{unit} is not a plain file; ask its owner to remove it"
        raise Refused("Busy", message, retry=True)
    return descriptor


def _open_or_make(directory: int, unit: str, flags: int) -> int:
    for _ in range(_TRIES):
        try:
            # First without O_CREAT: with it, fs.protected_regular refuses another user's file.
            return os.open(unit, flags, dir_fd=directory)
        except FileNotFoundError:
            pass
        umask = os.umask(0)
        try:
            return os.open(unit, flags | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=directory)
        except FileExistsError:
            continue
        finally:
            os.umask(umask)
    raise FileNotFoundError(2, "it keeps being deleted", unit)


def _open_directory(path: str) -> int:
    umask = os.umask(0)
    try:
        os.mkdir(path, 0o1777)
    except FileExistsError:
        pass
    except OSError as error:
        message = f"the lock directory {path} cannot be made: {error.strerror}"
        raise Refused("Busy", message, retry=True) from error
    finally:
        os.umask(umask)
    return _open_made(path)


def _open_made(path: str) -> int:
    """The lock directory, once it is sure that all users of the node can use it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except PermissionError as error:
        owner = user_name(os.lstat(path).st_uid)
        message = f"the lock directory {path} is {owner}'s and closed to others"
        cure = f"ask {owner} to run `chmod 1777 {path}`"
        raise Refused("Busy", f"{message}; {cure}", retry=True) from error
    except OSError as error:
        message = f"the lock directory {path} is not a directory; remove it"
        raise Refused("Busy", message, retry=True) from error
    seen = os.fstat(descriptor)
    shared = stat.S_IMODE(seen.st_mode) == 0o1777
    if not shared and (seen.st_uid != os.getuid() or seen.st_mode & 0o022):
        os.close(descriptor)
        message = (
            f"the lock directory {path} has the wrong mode; run `chmod 1777 {path}` as its owner"
        )
        raise Refused("Busy", message, retry=True)
    return descriptor


def _still_there(directory: int, unit: str, descriptor: int) -> bool:
    try:
        seen = os.stat(unit, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(seen, os.fstat(descriptor))


def _write_text(descriptor: int, text: str) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode("utf-8", "replace"), 0)
    except OSError:
        # A full /tmp takes the words away, not the lock.
        return


def _text_if_locked(path: str, locked: set[int]) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        # No file, or none of ours: nobody holds it.
        return None
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode) or seen.st_ino not in locked:
            return None
        return os.pread(descriptor, _TEXT_LIMIT, 0).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


def _locked_inodes(path: str) -> set[int]:
    """Inodes of the file system of `path` that hold a flock, from /proc/locks."""
    mount = mount_of(path)
    if mount is None:
        return set()
    major, minor = (int(number) for number in mount.device.split(":"))
    wanted = f"{major:02x}:{minor:02x}"
    found = set()
    with open("/proc/locks", encoding="ascii", errors="replace") as file:
        for line in file:
            words = line.split()
            # "1: FLOCK ADVISORY WRITE 4711 fe:00:1234 0 EOF"; one who waits has "->" in it.
            if len(words) == 8 and words[1] == "FLOCK" and words[5].startswith(wanted + ":"):
                found.add(int(words[5].rpartition(":")[2]))
    return found


def _holder(unit: str, text: str) -> Holder:
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    since = fields.get("since", "").split(" ")[0]
    attempt = fields.get("attempt", "")
    return Holder(
        unit,
        _plain(fields.get("user", "someone")),
        _plain(fields.get("name", "?")),
        _plain(fields.get("run", "")),
        int(attempt) if re.fullmatch(r"[0-9]{1,7}", attempt) else 0,
        _plain(fields.get("node", "")),
        float(since) if re.fullmatch(r"[0-9]{1,11}(\.[0-9]{1,6})?", since) else 0.0,
    )


def _plain(text: str) -> str:
    """What any terminal shows as it is."""
    return "".join(c if c.isprintable() else "?" for c in text[:128])
