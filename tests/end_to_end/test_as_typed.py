"""One process runs as typed: every byte of its words and variables, and its exit code is the job's."""

from __future__ import annotations

import json

import pytest

from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

TELL = """
import json, os, sys
ours = {k: v for k, v in os.environ.items() if k.startswith("X_") or k in ("RANK", "WORLD_SIZE")}
print(json.dumps({"argv": sys.argv, "env": ours, "cwd": os.getcwd()}))
"""
WORDS = ["a", "b c", "$HOME", "", "'", '"', "\\", "`id`", "*", "two\nlines", "é 漢", "-x", "--"]
VALUES = {
    "X_QUOTES": 'it\'s "so"',
    "X_LINES": "one\ntwo\n",
    "X_SHELL": "$HOME `id` $(id) ; & | > < * ? \\",
    "X_EMPTY": "",
    "X_EQUALS": "a=b=c",
    "X_UNICODE": "é 漢 \U0001f680",
    "X_SPACES": "  padded\t",
}


def test_words_and_variables_arrive_byte_for_byte(running: World) -> None:
    running.put("tell.py", TELL)
    options = [word for pair in VALUES.items() for word in ("--env", "=".join(pair))]
    number = running.submit(*options, "--", "python", "tell.py", *WORDS)
    assert running.ended(number)["state"] == "completed"
    (line,) = running.lines(number, "--json")
    told = json.loads(json.loads(line)["text"])
    assert told["argv"] == ["tell.py", *WORDS]
    assert told["env"] == VALUES
    assert told["cwd"] == "/home/lab/project"


def test_submit_and_wait_end_with_the_exit_code_of_the_script(running: World) -> None:
    said = running.say("submit", "--wait", "--", "sh", "-c", "echo broken >&2; exit 7")
    assert said.status == 7, said
    assert "job 1 (sh, 1x1) is queued" in said.out
    assert "failed" in said.out
    assert running.lines(1) == [f"0@{running.job(1)['nodes'][0]}! broken"]
    assert running.say("wait", "1").status == 7
    said = running.say("submit", "--wait", "--", "sh", "-c", "kill -SEGV $$")
    assert said.status == 139, said
    assert "SIGSEGV" in said.out
    assert running.say("submit", "--wait", "--", "true").status == 0
