"""The store: jobs, history, metrics, and the orders that any process may append.

SQLite in WAL mode with synchronous=FULL. Exactly one process, the holder of the engine lock,
consumes orders, each in the transaction that writes the jobs it changed.
"""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cockpit.core.jobs import Job
from cockpit.core.request import BadRequest, Request
from cockpit.engine import records

SCHEMA = 1
BUSY_S = 10.0
"""Seconds to wait for another process that is writing."""
_TABLES = """
CREATE TABLE numbers (id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL UNIQUE);
CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE,
                     time REAL NOT NULL, kind TEXT NOT NULL, job INTEGER, body TEXT NOT NULL);
CREATE TABLE done_orders (uid TEXT PRIMARY KEY);
CREATE TABLE jobs (id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
                   revision INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX jobs_revision ON jobs (revision);
CREATE TABLE history (id INTEGER PRIMARY KEY, time REAL NOT NULL, job INTEGER, text TEXT NOT NULL);
CREATE INDEX history_job ON history (job, id);
CREATE TABLE metrics (id INTEGER PRIMARY KEY, job INTEGER NOT NULL, name TEXT NOT NULL,
                      attempt INTEGER NOT NULL, step INTEGER, time REAL NOT NULL, value REAL,
                      odd TEXT);
CREATE INDEX metrics_job ON metrics (job, id);
CREATE TABLE parsed (run TEXT, attempt INTEGER, stream TEXT, offset INTEGER NOT NULL,
                     collected INTEGER NOT NULL, PRIMARY KEY (run, attempt, stream));
CREATE TABLE capacity (node TEXT PRIMARY KEY, units INTEGER NOT NULL, kind TEXT NOT NULL);
"""


class StoreError(Exception):
    """The store cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a person wants, waiting to be consumed."""

    id: int
    kind: str
    """submit, cancel or restart."""
    job: int
    body: str
    """JSON; a request for submit."""
    time: float = 0.0
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    job: int
    name: str
    attempt: int
    step: int | None
    time: float
    """Unix seconds."""
    value: float
    """May be nan or inf."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of history."""

    time: float
    job: int | None
    text: str


class Store:
    """One open database. Not for use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open or create. Raises StoreError."""
        self._path = path
        self._db = _connect(path)
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise _unreadable(path, error) from error
        except StoreError:
            self._db.close()
            raise

    def _prepare(self) -> None:
        """Nothing is written before the version is known to be ours."""
        self._refuse_newer()
        _use_wal(self._db)
        self._db.execute("PRAGMA synchronous = FULL")
        with self.transaction():
            if self._refuse_newer() == 0:
                for statement in _TABLES.split(";\n"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {SCHEMA}")

    def _refuse_newer(self) -> int:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA:
            raise StoreError(
                f"{self._path} was written by a newer cockpit (schema {version}, this one reads "
                f"{SCHEMA}); update this cockpit"
            )
        return int(version)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes inside, or none."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        self._db.close()

    def stamp(self) -> int:
        """Changes whenever another connection wrote, never for this one; cheap to ask often."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version)

    def submit(self, uid: str, now: float, request: Request) -> int:
        """Append a submission and give it its number; the same `uid` twice is one order."""
        with self.transaction():
            self._db.execute("INSERT OR IGNORE INTO numbers (run) VALUES (?)", (request.run,))
            query = "SELECT id FROM numbers WHERE run = ?"
            (number,) = self._db.execute(query, (request.run,)).fetchone()
            self._append(uid, now, "submit", number, records.dump_request(request))
        return int(number)

    def order(self, uid: str, now: float, kind: str, job: int, body: str = "{}") -> None:
        """Append an order about a job; the same `uid` twice is one order."""
        with self.transaction():
            self._append(uid, now, kind, job, body)

    def _append(self, uid: str, now: float, kind: str, job: int, body: str) -> None:
        if not self.is_done(uid):
            self._db.execute(
                "INSERT OR IGNORE INTO orders (uid, time, kind, job, body) VALUES (?, ?, ?, ?, ?)",
                (uid, now, kind, job, body),
            )

    def orders(self, after: int = 0, limit: int = -1) -> list[Order]:
        """Those not yet consumed whose id is above `after`, oldest first; -1 is all of them."""
        query = "SELECT id, kind, job, body, time FROM orders WHERE id > ? ORDER BY id LIMIT ?"
        return [Order(*row) for row in self._db.execute(query, (after, limit))]

    def consume(self, order: Order) -> None:
        """To be called in the transaction that writes what the order changed."""
        self._db.execute(
            "INSERT OR IGNORE INTO done_orders SELECT uid FROM orders WHERE id = ?", (order.id,)
        )
        self._db.execute("DELETE FROM orders WHERE id = ?", (order.id,))

    def is_done(self, uid: str) -> bool:
        """Whether the engine took the order of that uid."""
        query = "SELECT 1 FROM done_orders WHERE uid = ?"
        return self._db.execute(query, (uid,)).fetchone() is not None

    def save_jobs(self, jobs: Iterable[Job]) -> None:
        query = "SELECT COALESCE(MAX(revision), 0) + 1 FROM jobs"
        (revision,) = self._db.execute(query).fetchone()
        self._db.executemany(
            "INSERT INTO jobs (id, run, state, revision, body) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET state = excluded.state, revision = excluded.revision, "
            "body = excluded.body",
            [(job.id, job.run, job.state.value, revision, records.dump_job(job)) for job in jobs],
        )

    def jobs(self, after: int = 0) -> tuple[dict[int, Job], int]:
        """Those changed since the mark `after`, oldest first, and the next mark.

        Raises StoreError on a record that cannot be read.
        """
        found: dict[int, Job] = {}
        query = "SELECT id, revision, body FROM jobs WHERE revision > ? ORDER BY id"
        mark = after
        try:
            rows = self._db.execute(query, (after,)).fetchall()
        except sqlite3.DatabaseError as error:
            raise _unreadable(self._path, error) from error
        for number, revision, body in rows:
            try:
                found[number] = records.load_job(body)
            except (ValueError, KeyError, TypeError, AttributeError, BadRequest) as error:
                raise StoreError(f"{self._path}: job {number} cannot be read ({error})") from error
            mark = max(mark, revision)
        return found, mark

    def add_history(self, lines: Iterable[Line]) -> None:
        self._db.executemany(
            "INSERT INTO history (time, job, text) VALUES (?, ?, ?)",
            [(line.time, line.job, line.text) for line in lines],
        )

    def history(self, job: int | None = None, limit: int = 500) -> list[Line]:
        """The newest lines, oldest of them first."""
        where = "" if job is None else "WHERE job = ?"
        query = f"SELECT time, job, text FROM history {where} ORDER BY id DESC LIMIT ?"
        rows = self._db.execute(query, (limit,) if job is None else (job, limit)).fetchall()
        return [Line(*row) for row in reversed(rows)]

    def add_metrics(self, rows: Iterable[MetricRow]) -> None:
        """SQLite keeps no nan: odd values go in as text beside a NULL."""
        self._db.executemany(
            "INSERT INTO metrics (job, name, attempt, step, time, value, odd) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(r.job, r.name, r.attempt, r.step, r.time, *_split(r.value)) for r in rows],
        )

    def metrics(self, job: int, after: int = 0) -> tuple[list[MetricRow], int]:
        """Rows newer than the mark `after`, oldest first, and the next mark."""
        query = (
            "SELECT id, name, attempt, step, time, value, odd FROM metrics "
            "WHERE job = ? AND id > ? ORDER BY id"
        )
        rows: list[MetricRow] = []
        for mark, name, attempt, step, at, value, odd in self._db.execute(query, (job, after)):
            number = float(odd) if value is None else value
            rows.append(MetricRow(job, name, attempt, step, at, number))
            after = mark
        return rows, after

    def mark_parsed(
        self, run: str, attempt: int, stream: str, offset: int, collected: bool
    ) -> None:
        """How far a stream's metrics were read (bytes), and whether all of it is here."""
        self._db.execute(
            "INSERT OR REPLACE INTO parsed VALUES (?, ?, ?, ?, ?)",
            (run, attempt, stream, offset, collected),
        )

    def parsed(self, run: str, attempt: int, stream: str) -> tuple[int, bool]:
        query = "SELECT offset, collected FROM parsed WHERE run = ? AND attempt = ? AND stream = ?"
        row = self._db.execute(query, (run, attempt, stream)).fetchone()
        return (0, False) if row is None else (row[0], bool(row[1]))

    def collected(self, run: str, attempt: int) -> set[str]:
        """Names of the streams of an attempt of which all is here."""
        query = "SELECT stream FROM parsed WHERE run = ? AND attempt = ? AND collected"
        return {name for (name,) in self._db.execute(query, (run, attempt))}

    def save_capacity(self, node: str, units: int, kind: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO capacity VALUES (?, ?, ?)", (node, units, kind))

    def capacity(self) -> Sequence[tuple[str, int, str]]:
        """(node, units, gpu|slot) of every node that was ever read."""
        return self._db.execute("SELECT node, units, kind FROM capacity").fetchall()


def _unreadable(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    advice = "it is left as it is. Move it aside to begin a new one"
    return StoreError(f"{path} cannot be read ({error}); {advice}")


def _connect(path: Path) -> sqlite3.Connection:
    """For its owner alone: SQLite gives the files beside it the mode of the first."""
    try:
        # Only where there is none: a process that closes a file loses all its locks on it, those
        # of its other connections too, and the next to leave deletes the log they write to.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    except (OSError, sqlite3.OperationalError) as error:
        raise StoreError(f"{path} cannot be opened ({error}); see who owns it") from error


def _use_wal(db: sqlite3.Connection) -> None:
    """SQLite does not wait for its turn here, as it does elsewhere, when several processes begin."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _split(value: float) -> tuple[float | None, str | None]:
    return (value, None) if math.isfinite(value) else (None, repr(value))
