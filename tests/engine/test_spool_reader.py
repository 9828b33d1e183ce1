"""Any window on any choice of streams, merged by arrival, while the writer goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.engine.spool import AttemptSpool, SpoolReader


def append(spool: AttemptSpool, stream: str, data: bytes) -> None:
    spool.append(stream, spool.size(stream), data)


def texts(reader: SpoolReader, first: int = 0, count: int = 1_000_000) -> list[bytes]:
    return [line.data for line in reader.lines(first, count)]


def test_lines_stand_in_the_order_in_which_they_became_whole(tmp_path: Path) -> None:
    spool = AttemptSpool(tmp_path)
    spool.declare("0.stdout", "gpu1", 0)
    spool.declare("1.stderr", "gpu2", 1)
    append(spool, "0.stdout", b"a1\na2 beg")
    append(spool, "1.stderr", b"b1\n")
    append(spool, "0.stdout", b"ins\na3\n")
    spool.close()
    lines = SpoolReader(tmp_path).lines(0, 10)
    assert [(line.rank, line.node, line.data) for line in lines] == [
        (0, "gpu1", b"a1"),
        (1, "gpu2", b"b1"),
        (0, "gpu1", b"a2 begins"),
        (0, "gpu1", b"a3"),
    ]
    assert [line.is_error for line in lines] == [False, True, False, False]


def test_a_reader_sees_a_spool_that_is_not_there_yet(tmp_path: Path) -> None:
    reader = SpoolReader(tmp_path / "later")
    assert not reader.refresh()
    assert (reader.line_count, reader.lines(0, 5), reader.entries) == (0, [], [])
    spool = AttemptSpool(tmp_path / "later")
    append(spool, "0.stdout", b"hello\n")
    assert reader.refresh()
    assert not reader.refresh()
    assert texts(reader) == [b"hello"]
    spool.close()


def test_a_line_without_its_end_is_provisional(tmp_path: Path) -> None:
    spool = AttemptSpool(tmp_path)
    reader = SpoolReader(tmp_path)
    append(spool, "0.stdout", b"whole\nhal")
    reader.refresh()
    assert reader.line_count == 2
    assert [line.is_whole for line in reader.lines(0, 5)] == [True, False]
    append(spool, "0.stdout", b"f\n")
    reader.refresh()
    assert [(line.data, line.is_whole) for line in reader.lines(0, 5)] == [
        (b"whole", True),
        (b"half", True),
    ]
    spool.close()


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
def test_a_progress_bar_shows_its_last_state(tmp_path: Path, end: bytes) -> None:
    spool = AttemptSpool(tmp_path)
    bar = b"".join(b"\r%5d/20000 |#####| 3.1 it/s" % n for n in range(20_000))
    append(spool, "0.stderr", bar + b"{'loss': 0.1}" + end)
    spool.close()
    lines = SpoolReader(tmp_path).lines(0, 5)
    assert [line.data for line in lines] == [b"19999/20000 |#####| 3.1 it/s{'loss': 0.1}"]
    assert lines[0].hidden == 0


def test_a_long_line_is_cut_and_says_by_how_much(tmp_path: Path) -> None:
    spool = AttemptSpool(tmp_path)
    append(spool, "0.stdout", b"short\n")
    for _ in range(100):
        append(spool, "0.stdout", b"x" * 1_000_000)
    reader = SpoolReader(tmp_path)
    provisional = reader.lines(1, 1)[0]
    assert (provisional.data, provisional.hidden) == (b"x" * 4096, 100_000_000 - 4096)
    append(spool, "0.stdout", b"\nafter\n")
    reader.refresh()
    whole = reader.lines(1, 2)
    assert (whole[0].data, whole[0].hidden) == (b"x" * 4096, 100_000_000 - 4096)
    assert whole[1].data == b"after"
    spool.close()


def test_choosing_streams_keeps_the_place(tmp_path: Path) -> None:
    spool = AttemptSpool(tmp_path)
    for n in range(3000):
        append(spool, f"{n % 3}.stdout", b"%d\n" % n)
    append(spool, "0.stdout", b"open")
    reader = SpoolReader(tmp_path)
    place = reader.choose(["1.stdout"], line=1500)
    assert texts(reader, place, 2) == [b"1501", b"1504"]
    assert reader.line_count == 1000
    place = reader.choose(None, line=place)
    assert texts(reader, place, 1) == [b"1501"]
    assert reader.line_count == 3001
    assert reader.choose(["no such"], line=3000) == 0
    assert reader.line_count == 0
    assert texts(reader, reader.choose(None, line=0), 1) == [b"open"]
    spool.close()


def test_a_file_that_somebody_deleted_leaves_the_others_readable(tmp_path: Path) -> None:
    spool = AttemptSpool(tmp_path)
    append(spool, "0.stdout", b"a\nb\n")
    append(spool, "1.stdout", b"c\n")
    spool.close()
    next(tmp_path.glob("*0.stdout.log")).unlink()
    lines = SpoolReader(tmp_path).lines(0, 5)
    assert [line.is_mark for line in lines] == [True, True, False]
    assert lines[2].data == b"c"
    assert len(SpoolReader(tmp_path).lines(1, 1)) == 1


def test_a_stream_can_be_chosen_before_it_exists(tmp_path: Path) -> None:
    spool = AttemptSpool(tmp_path)
    reader = SpoolReader(tmp_path, ["1.stdout"])
    for n in range(2500):
        append(spool, f"{n % 2}.stdout", b"%d\n" % n)
        if n % 700 == 0:
            reader.refresh()
    reader.refresh()
    assert texts(reader) == [b"%d" % n for n in range(1, 2500, 2)]
    spool.close()


@settings(max_examples=40, deadline=None)
@given(
    turns=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 90)), max_size=120),
    repeat=st.integers(1, 30),
    chosen=st.one_of(st.none(), st.sets(st.integers(0, 5))),
    window=st.tuples(st.integers(0, 5000), st.integers(0, 400)),
)
def test_any_window_equals_a_plain_list(
    tmp_path_factory: pytest.TempPathFactory,
    turns: list[tuple[int, int]],
    repeat: int,
    chosen: set[int] | None,
    window: tuple[int, int],
) -> None:
    spool = AttemptSpool(tmp_path_factory.mktemp("spool"))
    expected: list[bytes] = []
    for turn, (stream, count) in enumerate(turns * repeat):
        lines = [b"%d %d %d" % (turn, stream, n) for n in range(count)]
        append(spool, str(stream), b"".join(line + b"\n" for line in lines))
        if chosen is None or stream in chosen:
            expected += lines
    spool.close()
    names = None if chosen is None else [str(stream) for stream in chosen]
    reader = SpoolReader(spool.directory, names)
    first, count = window
    assert reader.line_count == len(expected)
    assert texts(reader, first, count) == expected[first : first + count]
    assert texts(reader, max(len(expected) - 20, 0)) == expected[-20:]


WRITER = """
import sys
from pathlib import Path
from cockpit.engine.spool import AttemptSpool
spool = AttemptSpool(Path(sys.argv[1]))
for n in range(60_000):
    name = f"{n % 5}.stdout"
    spool.append(name, spool.size(name), b"line %d\\n" % n)
"""


def test_a_reader_in_another_process_sees_every_line_once_and_in_order(tmp_path: Path) -> None:
    reader = SpoolReader(tmp_path)
    seen = 0
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)]) as writer:
        over = False
        while not over:
            over = writer.poll() is not None
            reader.refresh()
            whole = [line for line in reader.lines(seen, 100_000) if line.is_whole]
            assert [line.data for line in whole] == [
                b"line %d" % n for n in range(seen, seen + len(whole))
            ]
            seen += len(whole)
    assert writer.returncode == 0
    assert seen == 60_000
