"""What is kept is what the node wrote, byte for byte, whatever happens to the writer."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.engine.spool import AttemptSpool, ForeignSpool, SpoolGap, SpoolReader
from cockpit.engine.spool.streams import read_entries


def kept(directory: Path, stream: str, generation: int = 0) -> bytes:
    entries, _ = read_entries(directory)
    key = (stream, generation)
    entry = next(e for e in entries.values() if (e.name, e.generation) == key)
    return (directory / entry.file).read_bytes()


def shown(directory: Path, streams: list[str] | None = None) -> list[bytes]:
    reader = SpoolReader(directory, streams)
    return [line.data for line in reader.lines(0, reader.line_count)]


def test_bytes_are_kept_as_they_were_and_overlap_is_dropped(tmp_path: Path) -> None:
    data = b"one\ntwo\r\n\x1b[31m\xff\x00 three\nfour"
    spool = AttemptSpool(tmp_path)
    assert spool.size("0.stdout") == 0
    spool.append("0.stdout", 0, data[:7])
    spool.append("0.stdout", 2, data[2:15])
    spool.append("0.stdout", 0, data[:9])
    spool.append("0.stdout", 15, data[15:])
    assert spool.size("0.stdout") == len(data)
    spool.close()
    assert kept(tmp_path, "0.stdout") == data


def test_a_gap_is_refused_and_says_where_to_go_on(tmp_path: Path) -> None:
    spool = AttemptSpool(tmp_path)
    spool.append("0.stdout", 0, b"abc")
    with pytest.raises(SpoolGap, match="bytes 3 to 5 never came") as caught:
        spool.append("0.stdout", 5, b"fg")
    assert caught.value.kept == 3
    assert spool.size("0.stdout") == 3
    spool.close()


def test_a_replaced_file_starts_anew_and_the_old_bytes_stay(tmp_path: Path) -> None:
    spool = AttemptSpool(tmp_path)
    spool.declare("3.stderr", "gpu1", 3)
    spool.append("3.stderr", 0, b"before\nhalf")
    spool.replaced("3.stderr")
    assert spool.size("3.stderr") == 0
    spool.append("3.stderr", 0, b"after\n")
    spool.close()
    assert kept(tmp_path, "3.stderr") == b"before\nhalf"
    assert kept(tmp_path, "3.stderr", 1) == b"after\n"
    reader = SpoolReader(tmp_path)
    lines = reader.lines(0, 10)
    assert [line.is_mark for line in lines] == [False, False, True, False]
    assert [line.data for line in lines if not line.is_mark] == [b"before", b"half", b"after"]
    assert all(line.is_whole for line in lines)
    assert {(line.node, line.rank) for line in lines} == {("gpu1", 3)}
    again = AttemptSpool(tmp_path)
    assert again.size("3.stderr") == len(b"after\n")
    again.close()
    os.truncate(tmp_path / "arrival", 24)
    AttemptSpool(tmp_path).close()
    again_lines = SpoolReader(tmp_path).lines(0, 10)
    assert again_lines == lines


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\nb", "", "\udc80\x1b[2J", "x" * 5000, "."])
def test_a_hostile_name_stays_inside_the_directory(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "spool"
    spool = AttemptSpool(directory)
    spool.append(name, 0, b"hello\n")
    spool.close()
    assert kept(directory, name) == b"hello\n"
    assert os.listdir(tmp_path) == ["spool"]
    assert [line.stream for line in SpoolReader(directory).lines(0, 9)] == [name]
    again = AttemptSpool(directory)
    assert again.size(name) == 6
    again.close()


def test_a_spool_of_another_version_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "version").write_text("7")
    with pytest.raises(ForeignSpool, match="another version"):
        AttemptSpool(tmp_path)
    with pytest.raises(ForeignSpool, match="another version"):
        SpoolReader(tmp_path)


def test_a_full_disk_loses_nothing_and_is_told(tmp_path: Path) -> None:
    program = """
import resource, sys, signal
from pathlib import Path
from cockpit.engine.spool import AttemptSpool
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
spool = AttemptSpool(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
data = b"0123456\\n" * 200
try:
    spool.append("0.stdout", 0, data)
except OSError:
    print("told", spool.size("0.stdout"))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
size = spool.size("0.stdout")
spool.append("0.stdout", size, data[size:])
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert done.stdout == "told 1000\n"
    assert kept(tmp_path, "0.stdout") == b"0123456\n" * 200
    assert shown(tmp_path) == [b"0123456"] * 200


def test_a_disk_too_full_for_a_name_leaves_no_half_a_name(tmp_path: Path) -> None:
    program = """
import resource, sys, signal
from pathlib import Path
from cockpit.engine.spool import AttemptSpool
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
spool = AttemptSpool(Path(sys.argv[1]))
spool.append("first", 0, b"one\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    spool.append("second", 0, b"two\\n")
except OSError:
    print("told")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
spool.append("third", 0, b"three\\n")
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert done.stdout == "told\n"
    assert shown(tmp_path) == [b"one", b"three"]


WRITER = """
import json, sys
from pathlib import Path
from cockpit.engine.spool import AttemptSpool
spool = AttemptSpool(Path(sys.argv[1]))
files = {name: Path(path).read_bytes() for name, path in json.loads(sys.argv[2]).items()}
print("ready", flush=True)
step = 97
while any(spool.size(name) < len(data) for name, data in files.items()):
    for name, data in files.items():
        size = spool.size(name)
        spool.append(name, size, data[size:size + step])
        step = step * 7 % 5003
print("done", flush=True)
"""


def test_a_writer_killed_at_any_instant_leaves_a_spool_that_goes_on(tmp_path: Path) -> None:
    sources = {}
    for rank in range(3):
        path = tmp_path / f"rank{rank}"
        path.write_bytes(b"".join(b"%d %s\n" % (n, b"x" * (n % 211)) for n in range(40_000)))
        sources[f"{rank}.stdout"] = str(path)
    directory = tmp_path / "spool"
    kills = 0
    while kills < 40:
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(directory), json.dumps(sources)],
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None
        with writer, writer.stdout:
            assert writer.stdout.readline() == b"ready\n"
            goal = sum(p.stat().st_size for p in directory.glob("*.log")) + 20_011 * (kills % 7 + 1)
            while sum(p.stat().st_size for p in directory.glob("*.log")) < goal:
                if writer.poll() is not None:
                    break
            writer.send_signal(signal.SIGKILL)
            if writer.wait() == 0:
                break
            kills += 1
    assert kills > 5
    last = AttemptSpool(directory)
    for name, source in sources.items():
        data = Path(source).read_bytes()
        last.append(name, last.size(name), data[last.size(name) :])
    last.close()
    for name, source in sources.items():
        data = Path(source).read_bytes()
        assert hashlib.sha256(kept(directory, name)).digest() == hashlib.sha256(data).digest()
        assert shown(directory, [name]) == data.splitlines()


@pytest.mark.parametrize("spoil", [0, 1, 24 * 3 + 11, 24 * 5])
def test_the_journal_is_counted_again_from_the_files(tmp_path: Path, spoil: int) -> None:
    spool = AttemptSpool(tmp_path)
    for n in range(10):
        spool.append(f"{n % 2}.stdout", spool.size(f"{n % 2}.stdout"), b"line %d\nha" % n)
    spool.close()
    os.truncate(tmp_path / "arrival", spoil)
    with (tmp_path / "streams.jsonl").open("ab") as table:
        table.write(b'{"number": 9, "na')
    AttemptSpool(tmp_path).close()
    for rank in ("0.stdout", "1.stdout"):
        assert b"\n".join(shown(tmp_path, [rank])) == kept(tmp_path, rank)
    assert len(shown(tmp_path)) == 12


def test_zeros_that_a_power_cut_left_are_not_believed(tmp_path: Path) -> None:
    spool = AttemptSpool(tmp_path)
    spool.append("0.stdout", 0, b"a\nb\n")
    spool.append("0.stdout", 4, b"c\n")
    spool.close()
    path = tmp_path / "arrival"
    path.write_bytes(path.read_bytes()[:24] + bytes(24 * 4))
    AttemptSpool(tmp_path).close()
    assert shown(tmp_path) == [b"a", b"b", b"c"]


@settings(max_examples=60, deadline=None)
@given(
    data=st.lists(st.sampled_from([b"a", b"\n", b"bc\n", b"\x00\xff", b"q" * 70_000])).map(
        b"".join
    ),
    cuts=st.lists(st.integers(0, 300_000), max_size=12),
    crash_after=st.integers(0, 12),
)
def test_any_chunking_equals_the_plain_file(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cuts: list[int], crash_after: int
) -> None:
    directory = tmp_path_factory.mktemp("spool")
    spool = AttemptSpool(directory)
    edges = sorted({min(cut, len(data)) for cut in cuts} | {len(data)})
    begin = 0
    for turn, end in enumerate(edges):
        spool.append("0.stdout", begin, data[begin:end])
        begin = end
        if turn == crash_after:
            spool.close()
            spool = AttemptSpool(directory)
    spool.close()
    if data:
        assert kept(directory, "0.stdout") == data
    expected = data.split(b"\n")
    if not expected[-1]:
        expected.pop()
    reader = SpoolReader(directory)
    lines = reader.lines(0, reader.line_count + 5)
    assert len(lines) == reader.line_count
    assert [(line.data, line.hidden) for line in lines] == [
        (text[:4096], max(len(text) - 4096, 0)) for text in expected
    ]
