"""Whatever lies in the directories that a node reads: it is shown or refused, never fatal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cockpit_node import leases, records, runs
from cockpit_node.checkpoints import MAX_LISTED, checkpoints
from cockpit_node.paths import BadPath, RunPaths, state_root
from cockpit_node.refused import Refused
from cockpit_node.wire import encode
from tests.node.rig import Rig, until


@pytest.fixture
def ended(rig: Rig) -> RunPaths:
    """A run that is over, as a supervisor left it."""
    paths = rig.start(rig.spec(["bash", "-c", "echo hello; exit 3"], units=["slot-0"]))
    rig.ended(paths)
    until("its supervisor has gone", lambda: not leases.is_locked(paths.directory))
    return paths


def look_and_send(rig: Rig) -> str:
    """The state of the only run, after everything that its agent would do with it."""
    (state,) = runs.runs(rig.node)
    encode(state)
    return str(state["state"])


@pytest.mark.parametrize("name", ["spec.json", "sup.json", "exit.json", "ranks.json", "claim.json"])
def test_a_record_cut_at_any_byte_makes_a_run_unknown_at_worst(
    rig: Rig, ended: RunPaths, name: str
) -> None:
    path = Path(ended.directory, name)
    data = path.read_bytes().rstrip()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        assert look_and_send(rig) in ("unknown", "lost", "ended")
    path.write_bytes(data)
    assert look_and_send(rig) == "ended"


@pytest.mark.parametrize(
    "name", ["spec.json", "sup.json", "exit.json", "ranks.json", "processes.json"]
)
def test_a_record_with_anything_in_it_makes_a_run_unknown_at_worst(
    rig: Rig, ended: RunPaths, name: str
) -> None:
    path = Path(ended.directory, name)
    record = json.loads(path.read_bytes()) if path.exists() else {"processes": []}
    strange: list[object] = [
        None,
        True,
        -1,
        1e300,
        10**40,
        "\x1b]0;x\x07",
        [],
        [[]],
        [{}],
        {},
        {"pid": "x"},
    ]
    for key in record:
        for value in strange:
            path.write_text(json.dumps({**record, key: value}))
            assert look_and_send(rig) in ("unknown", "lost", "ended", "refused")
    for text in (
        "[]",
        "1e999",
        '{"leftovers":NaN}',
        "[" * 100_000,
        '{"a":' * 5000,
        "\xff",
        "\0" * 4096,
    ):
        path.write_bytes(text.encode("latin-1"))
        assert look_and_send(rig) in ("unknown", "lost", "ended", "refused")
    path.unlink()
    os.mkfifo(path)
    assert look_and_send(rig) in ("lost", "ended")


def test_names_lead_nowhere_else(rig: Rig) -> None:
    for run, attempt in (("../x", 1), ("", 1), ("a/b", 1), (".", 1), ("x", 0), ("x", True)):
        with pytest.raises(BadPath):
            runs.look(rig.node, run, attempt)


def make_checkpoint(directory: Path, step: int) -> Path:
    made = directory / f"step-{step:08d}"
    made.mkdir(parents=True)
    (made / "model.pt").write_bytes(b"x" * 10)
    files = {"model.pt": {"bytes": 10, "sha256": "0" * 64}}
    write_manifest(made, step, files)
    return made


def write_manifest(made: Path, step: int, files: object) -> None:
    manifest = {"version": 1, "step": step, "world_size": 2, "time": 1.5, "files": files}
    (made / "manifest.json").write_text(json.dumps(manifest))


def test_only_whole_checkpoints_count_newest_first(tmp_path: Path) -> None:
    for step in (40, 80, 120, 160):
        make_checkpoint(tmp_path, step)
    (tmp_path / "step-00000160" / "model.pt").write_bytes(b"x" * 9)
    (tmp_path / "step-00000120" / "manifest.json").unlink()
    (tmp_path / ".step-00000200.tmp-17").mkdir()
    found, left_out = checkpoints(str(tmp_path))
    assert left_out == 0
    assert [(one["step"], one["complete"]) for one in found] == [
        (160, False),
        (120, False),
        (80, True),
        (40, True),
    ]
    assert found[0]["reason"] == "'model.pt' has 9 of 10 bytes"
    assert (found[2]["bytes"], found[2]["time"], found[2]["world_size"]) == (10, 1.5, 2)
    assert checkpoints(str(tmp_path / "nowhere")) == ([], 0)


def test_of_very_many_checkpoints_the_newest_are_listed(tmp_path: Path) -> None:
    for step in range(MAX_LISTED + 7):
        (tmp_path / f"step-{step}").mkdir()
    found, left_out = checkpoints(str(tmp_path))
    assert (len(found), left_out) == (MAX_LISTED, 7)
    assert (found[0]["step"], found[-1]["step"]) == (MAX_LISTED + 6, 7)


@pytest.mark.parametrize(
    "files",
    [
        {"../outside": {"bytes": 3}},
        {"/etc/passwd": {"bytes": 3}},
        {"link": {"bytes": 3}},
        {"a\0b": {"bytes": 3}},
        {"": {"bytes": 3}},
        {"..": {"bytes": 3}},
        {"model.pt": {"bytes": -1}},
        {"model.pt": {"bytes": "10"}},
        {"model.pt": 10},
        {"x" * 5000: {"bytes": 3}},
        {"\ud800": {"bytes": 3}},
        {},
        [],
        None,
    ],
)
def test_a_manifest_that_points_elsewhere_is_refused(tmp_path: Path, files: object) -> None:
    made = make_checkpoint(tmp_path, 40)
    (tmp_path / "outside").write_bytes(b"abc")
    (made / "link").symlink_to(tmp_path / "outside")
    write_manifest(made, 40, files)
    (found,), _ = checkpoints(str(tmp_path))
    assert not found["complete"]
    encode({"type": "reply", "checkpoints": [found]})


def test_a_lock_that_someone_tampered_with_is_not_followed(rig: Rig, tmp_path: Path) -> None:
    locks = tmp_path / "locks"
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for unit, tamper in (
        ("slot-0", lambda path: path.symlink_to(victim)),
        ("slot-1", lambda path: path.hardlink_to(victim)),
        ("slot-2", lambda path: os.mkfifo(path)),
        ("slot-3", lambda path: path.mkdir()),
    ):
        locks.mkdir(exist_ok=True)
        locks.chmod(0o1777)
        tamper(locks / unit)
        with pytest.raises(Refused) as refused:
            leases.take([leases.Holder(unit, "me", "story", "01RUN", 1, "gpu1", 0.0)])
        assert (refused.value.code, refused.value.retry) == ("Busy", True)
    assert victim.read_text() == "precious"
    assert leases.holders() == {}


def test_what_the_holder_of_a_lock_wrote_is_shown_as_plain_text(rig: Rig, tmp_path: Path) -> None:
    holder = leases.Holder("slot-0", "me", "story", "01RUN", 1, "gpu1", 12.5)
    held = leases.take([holder])
    assert leases.holders() == {"slot-0": holder}
    lock = tmp_path / "locks" / "slot-0"
    assert lock.stat().st_mode & 0o777 == 0o666
    lock.write_bytes(b"user: \x1b]0;x\x07\nname: \xff\nsince: 1e999\nattempt: -3\n" + b"x" * 9000)
    seen = leases.holders()["slot-0"]
    assert (seen.user, seen.attempt, seen.since) == ("?]0;x?", 0, 0.0)
    with pytest.raises(Refused):
        leases.take([holder])
    held.release()
    assert leases.holders() == {}


def test_a_lock_directory_that_is_not_for_all_is_named(tmp_path: Path, rig: Rig) -> None:
    (tmp_path / "locks").symlink_to(tmp_path)
    with pytest.raises(Refused, match="is not a directory"):
        leases.take([])
    (tmp_path / "locks").unlink()
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks").chmod(0o775)
    for look in (lambda: leases.take([]), leases.holders):
        with pytest.raises(Refused, match="chmod 1777"):
            look()


@pytest.mark.cluster
def test_a_lock_directory_that_another_user_has_closed_is_said_to_be_theirs() -> None:
    code = (
        "import os\nfrom cockpit_node import leases\nos.setuid(65534)\n"
        "try:\n    leases.take([])\nexcept Exception as error:\n    print(error)\n"
    )
    # The way to it must be open to the other user, the directory itself closed.
    with tempfile.TemporaryDirectory() as open_to_all:
        os.chmod(open_to_all, 0o755)
        closed = Path(open_to_all, "locks")
        closed.mkdir(mode=0o700)
        said = subprocess.run(
            [sys.executable, "-c", code],
            env={"COCKPIT_NODE_LOCKS": str(closed), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
    assert said.stdout == (
        f"the lock directory {closed} is root's and closed to others; "
        f"ask root to run `chmod 1777 {closed}`\n"
    )


def test_a_state_directory_is_made_or_refused_with_a_sentence(tmp_path: Path) -> None:
    assert state_root(str(tmp_path / "new" / "root")) == str(tmp_path / "new" / "root")
    with pytest.raises(BadPath, match="not absolute"):
        state_root("here")
    (tmp_path / "file").write_text("")
    with pytest.raises(BadPath, match="cannot be made"):
        state_root(str(tmp_path / "file" / "root"))


def test_a_record_that_is_being_reserved_is_no_record_yet(tmp_path: Path) -> None:
    path = str(tmp_path / "exit.json")
    records.reserve(path)
    assert records.read(path) is None
    records.fill(path, {"code": 0})
    assert records.read(path) == {"code": 0}
    assert os.path.getsize(path) == records.RESERVED
