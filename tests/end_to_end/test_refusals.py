"""What cannot work is refused in one sentence that says what to do, and starts nothing anywhere."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cluster.wait import until
from tests.end_to_end import standin
from tests.end_to_end.world import PROJECT, World

pytestmark = pytest.mark.cluster

AT_ONCE = {
    ("submit", "--gpu", "1", "--", "ok.py"): "No such option '--gpu'. Did you mean '--gpus'?",
    (
        "submit",
        "-N",
        "2",
    ): "there is no command; write it after `--`, as in `-- train.py --lr 3e-4`",
    ("submit", "-N", "0", "--", "ok.py"): "Invalid value for '-N' / '--nodes': 0 is not in the ran",
    ("submit", "--env", "A", "--", "ok.py"): "--env A: write NAME=VALUE, as in --env OMP_NUM_THRE",
    ("submit", "--env", "1A=3", "--", "ok.py"): "'1A' is not the name of an environment variable",
    ("submit", "--name", "a b", "--", "ok.py"): "job name 'a b': use 1 to 64 of letters, digits, ",
    ("submit", "--", "-x"): "'-x' is not a command; after `--` comes a script or a program",
    ("cancel", "99", "--yes"): "there is no job 99 in cluster lab; nothing was submitted yet",
    ("restart", "99"): "there is no job 99 in cluster lab; nothing was submitted yet",
    ("logs", "99"): "there is no job 99 in cluster lab; nothing was submitted yet",
    ("show", "first"): "Invalid value for 'JOB': 'first' is not a valid integer.",
    ("start",): "There is no verb `start`; did you mean `restart`? See `cockpit --help`.",
}
CONFIGS = {
    "version = 1\n[nodes.gpu1]\naddress = 10.0.0.1\n": "line 3: Expected newline or end of document",
    '[nodes.gpu1]\nadress = "x"\n': "unknown key `adress` in [nodes.gpu1]; did you mean `address`?",
    "[nodes.gpu1]\nslots = 0\n": "line 2: `slots` in [nodes.gpu1] must be 1 or more",
    "version = 9\n[nodes.gpu1]\n": "line 1: this cockpit reads version 1, not 9",
    "[nodes.gpu1\n": "line 1: Expected ']' at the end of a table declaration",
    "": "names no node; add a [nodes.NAME] table or run `cockpit init`",
}
BY_NODES = {
    ("--workdir", "/nowhere", "--", "ok.py"): "NoWorkdir: there is no directory /nowhere; make it,",
    ("--setup", "false", "--", "ok.py"): "SetupFailed: the setup lines failed with exit code 1",
    ("--venv", "/none", "--", "ok.py"): "SetupFailed: the setup lines failed with exit code 1: ",
    ("--", "nosuch"): "NoProgram: there is no program nosuch in the job's PATH",
    ("--", "./nosuch"): f"NoScript: there is no file {PROJECT}/./nosuch; copy it there",
    ("-N", "2", "-G", "2", *standin.OPTIONS, "--", "one.py"): "NoScript: there is no file",
    ("-N", "2", "--python", "/usr/bin/python3", "--", "ok.py"): "NoTorch: /usr/bin/python3",
}
TAKING_PORTS = """
import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
held = []
for port in range(20000, 30000):
    taken = socket.socket()
    taken.bind(("", port))
    taken.listen(1)
    held.append(taken)
print("taken", flush=True)
time.sleep(600)
"""


def test_a_command_that_cannot_be_carried_out_says_why_in_one_sentence(world: World) -> None:
    for words, sentence in AT_ONCE.items():
        said = world.say(*words)
        assert (said.status, said.out) == (2, ""), (words, said)
        assert said.err.startswith(f"cockpit: {sentence}"), (words, said)
        assert said.err.count("\n") == 1, (words, said)
    assert world.jobs() == []


def test_a_configuration_that_cannot_be_read_names_its_line(world: World) -> None:
    for text, sentence in CONFIGS.items():
        world.config.write_text(text)
        said = world.say("submit", "--", "true")
        assert (said.status, said.out) == (2, ""), (text, said)
        assert said.err.startswith(f"cockpit: {world.config}"), (text, said)
        assert sentence in said.err, (text, said)
    world.config.unlink()
    said = world.say("ps")
    assert said.status == 2
    assert said.err == f"cockpit: cannot read {world.config}: No such file or directory\n"
    world.write_config()


def test_a_node_that_lacks_something_fails_the_job_before_it_starts(running: World) -> None:
    standin.put(running)
    running.put("ok.py", "open('started', 'w')")
    running.put("one.py", "open('started', 'w')", "gpu1")
    for words, sentence in BY_NODES.items():
        said = running.say("submit", "--wait", *words)
        assert said.status == 1, (words, said)
        job = running.jobs()[-1]
        assert (job["state"], job["attempt"]) == ("failed", 0), (words, job)
        where, _, reason = job["reason"].partition(": ")
        assert where in running.lab.nodes, (words, job)
        assert reason.startswith(sentence), (words, job)
        running.assert_nothing_left(job)
        told = running.say("logs", str(job["id"]))
        assert (told.status, told.err) == (
            2,
            f"cockpit: job {job['id']} never ran: {job['reason']}\n",
        )
    for node in running.nodes:
        assert "started" not in node.run(["ls", PROJECT]).stdout
        assert node.run(["find", "/tmp/cockpit-locks", "-type", "f"]).returncode in (0, 1)


def test_more_than_the_cluster_has_is_refused_at_once_once_it_is_known(running: World) -> None:
    running.put("ok.py", "")
    assert running.ended(running.submit("-G", "2", "--", "ok.py"))["code"] == 0
    running.until_told(
        lambda: running.say("submit", "-N", "4", "--", "ok.py").status == 2,
        "the engine to have seen all nodes",
    )
    said = running.say("submit", "-G", "3", "--", "ok.py")
    assert said.status == 2
    assert said.err.startswith("cockpit: NeverFits: ")
    assert "3x2 is all it has" in said.err


def test_a_job_whose_node_does_not_answer_waits_and_says_which(running: World) -> None:
    running.put("brief.py", "")
    assert running.ended(running.submit("--", "true"))["state"] == "completed"
    running.lab.nodes["gpu2"].stop_sshd()
    for session in running.lab.nodes["gpu2"].sshd_sessions():
        running.lab.nodes["gpu2"].kill(session)
    number = running.submit("-N", "3", "--", "brief.py")
    words = "NodeDown: needs 3x1; gpu2 does not answer"
    running.until_told(lambda: running.job(number)["reason"] == words, words, 40)
    said = running.say("nodes", timeout_s=60)
    assert said.status == 255
    assert "\ngpu2  unreachable: " in said.out
    assert running.say("cancel", str(number), "--yes").status == 0
    running.lab.nodes["gpu2"].start_sshd()


def test_host_keys_that_are_unknown_or_changed_are_refused_with_the_command_that_helps(
    world: World,
) -> None:
    unknown, changed = world.lab.nodes["gpu2"], world.lab.nodes["gpu3"]
    changed.change_host_key()
    known = world.lab.known_hosts.read_text().splitlines(keepends=True)
    kept = [line for line in known if not line.startswith("gpu2,")]
    world.lab.known_hosts.write_text("".join(kept))
    said = world.say("nodes")
    assert said.status == 255
    found = {line.split()[0]: line for line in said.out.splitlines() if line.startswith("gpu")}
    assert found["gpu1"].startswith("gpu1  up")
    assert found["gpu2"].startswith("gpu2  refused: the host key of gpu2 is unknown: ED25519 ")
    assert unknown.host_key_fingerprint in found["gpu2"]
    assert found["gpu3"].startswith("gpu3  refused: the host key of gpu3 has CHANGED: ")
    assert changed.host_key_fingerprint in found["gpu3"]
    for line in (found["gpu2"], found["gpu3"]):
        command = line[line.rindex(": ") + 2 :]
        done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True)
        assert done.returncode == 0, (command, done)
    said = world.say("nodes")
    assert said.status == 0, said


def test_a_node_without_python_is_refused_and_the_others_work(world: World) -> None:
    world.lab.nodes["gpu1"].hide_python()
    python = f'python = "{sys.executable}"\n'
    world.config.write_text(world.config.read_text().replace(python, ""))
    world.start_daemon()
    said = world.say("nodes")
    assert said.status == 255
    assert (
        "gpu1  refused: gpu1 has no python3 (3.8 or newer) that its login shell finds; " in said.out
    )
    job = world.ended(world.submit("--", "true"))
    assert (job["state"], job["nodes"] == ["gpu1"]) == ("completed", False)


def test_a_job_waits_while_no_port_is_free_and_starts_once_one_is(running: World) -> None:
    standin.put(running)
    running.put("brief.py", "")
    running.put("take.py", TAKING_PORTS)
    first = running.lab.nodes["gpu1"]
    script = f"cd {PROJECT} && setsid {sys.executable} take.py > taken 2>&1 &"
    assert first.run(["sh", "-c", script]).returncode == 0
    until(lambda: "taken" in first.read(f"{PROJECT}/taken"), "all ports to be taken", 60)
    number = running.submit("-N", "3", *standin.OPTIONS, "--", "brief.py")
    words = "gpu1: Port: none of 200 ports tried from 20000 to 29999 was free"
    running.until_told(lambda: words in running.job(number)["reason"], "the reason", 40)
    (taker,) = [proc for proc in first.processes() if "take.py" in proc.argv]
    first.kill(taker)
    job = running.ended(number)
    assert (job["state"], job["attempt"]) == ("completed", 1)
