"""The lab itself: its nodes are machines, its faults are faults, and it leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster import leftovers
from tests.cluster.commands import run
from tests.cluster.lab import Lab
from tests.cluster.processes import ProcessGone
from tests.cluster.wait import until

pytestmark = pytest.mark.cluster

COUNTER = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done"


def ssh(lab: Lab, node: str, command: str) -> subprocess.CompletedProcess[str]:
    argv = ["ssh", "-F", str(lab.ssh_config), "-o", "ConnectTimeout=5", node, command]
    return subprocess.run(
        argv, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def open_session(lab: Lab, node: str, command: str) -> subprocess.Popen[str]:
    argv = ["ssh", "-F", str(lab.ssh_config), node, command]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=pipe, text=True)


def test_ssh_reaches_every_node_by_its_alias(lab: Lab) -> None:
    for name, node in lab.nodes.items():
        answer = ssh(lab, name, "hostname; cat /proc/sys/kernel/random/boot_id")
        assert answer.stdout.split() == [name, node.boot_id], answer.stderr


def test_nodes_share_paths_but_not_what_lies_there(lab: Lab) -> None:
    for path in ("/home/lab/a", "/tmp/a", "/var/tmp/a", "/run/lock/a", "/dev/shm/a", "/usr/bin/a"):
        lab.nodes["gpu1"].write(path, "one")
        assert ssh(lab, "gpu1", f"cat {path}").stdout == "one"
        assert ssh(lab, "gpu2", f"cat {path}").returncode == 1
        assert not Path(path).exists()


def test_a_shared_home_is_one_directory_until_the_lab_is_wiped(
    start_lab: Callable[..., Lab],
) -> None:
    lab = start_lab(2, shared_home=True)
    lab.nodes["gpu1"].write("/home/lab/a", "one")
    assert lab.nodes["gpu2"].read("/home/lab/a") == "one"
    lab.nodes["gpu1"].wipe()
    assert lab.nodes["gpu1"].read("/home/lab/a") == "one"
    lab.wipe()
    assert lab.nodes["gpu1"].run(["ls", "/home/lab"]).stdout == ""


def test_a_researcher_without_rights_has_an_account_and_a_home(lab: Lab) -> None:
    answer = ssh(lab, "alice@gpu1", "id -un; pwd; touch mine && ls; ls /home/bob")
    assert answer.stdout.split() == ["alice", "/home/alice", "mine"]
    assert "Permission denied" in answer.stderr


def test_no_node_can_resolve_a_node(lab: Lab) -> None:
    for name in lab.nodes:
        assert ssh(lab, "gpu1", f"getent hosts {name}").returncode == 2


def test_a_node_sees_only_its_own_processes_and_leaves_no_zombies(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    ssh(lab, "gpu1", "for i in 1 2 3 4 5; do (sleep 0 &) ; done")
    seen = ssh(lab, "gpu1", "cat /proc/[0-9]*/comm").stdout.split()
    assert set(seen) <= {"sshd", "bash", "cat"}
    until(lambda: not node.sshd_sessions(), "the sessions to end")
    assert sorted(proc.comm for proc in node.processes()) == ["cat", "sshd"]


def test_a_marked_process_is_found_from_outside_and_killed_by_identity(lab: Lab) -> None:
    node = lab.nodes["gpu2"]
    mark = "COCKPIT_RUN=01RUN/1/gpu2"
    inside = int(ssh(lab, "gpu2", f"{mark} setsid sleep 1000 </dev/null >&- 2>&- & echo $!").stdout)
    until(lambda: "sleep" in {proc.comm for proc in node.marked("01RUN")}, "the process")
    (proc,) = node.marked("01RUN")
    assert (proc.mark, proc.argv, proc.pid) == ("01RUN/1/gpu2", ("sleep", "1000"), inside)
    assert node.marked("01RU") == []
    node.kill(proc)
    until(lambda: not node.marked(), "its end")
    with pytest.raises(ProcessGone):
        node.kill(proc)


def test_power_off_ends_everything_in_silence_and_power_on_is_another_boot(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    node.write("/home/lab/kept", "yes")
    node.write("/tmp/lost", "yes")
    before = node.boot_id
    with open_session(lab, "gpu1", COUNTER) as session:
        assert session.stdout is not None
        assert session.stdout.readline() == "1\n"
        host_pids = [proc.host_pid for proc in node.processes()]
        node.power_off()
        assert not [pid for pid in host_pids if Path(f"/proc/{pid}").exists()]
        with pytest.raises(TimeoutError):
            socket.create_connection((node.address, 22), timeout=0.5)
        assert session.poll() is None, "a machine without power says no goodbye"
        node.power_on()
        session.kill()
    assert ssh(lab, "gpu1", "cat kept; ls /tmp").stdout == "yes"
    assert node.boot_id != before


def test_a_cut_is_silent_and_an_open_session_goes_on_when_it_heals(lab: Lab) -> None:
    node = lab.nodes["gpu3"]
    with open_session(lab, "gpu3", COUNTER) as session:
        assert session.stdout is not None
        assert session.stdout.readline() == "1\n"
        node.cut()
        with pytest.raises(TimeoutError):
            socket.create_connection((node.address, 22), timeout=0.5)
        assert ssh(lab, "gpu1", "hostname").stdout == "gpu1\n"
        assert session.poll() is None
        node.heal()
        numbers = [int(session.stdout.readline()) for _ in range(100)]
        assert numbers == list(range(2, 102))
        session.kill()


def test_two_nodes_can_lose_each_other_while_the_operator_sees_both(lab: Lab) -> None:
    one, two = lab.nodes["gpu1"], lab.nodes["gpu2"]
    knock = ["timeout", "0.5", "bash", "-c", f"exec 3<>/dev/tcp/{two.address}/22"]
    assert one.run(knock).returncode == 0
    one.cut_from(two)
    assert one.run(knock).returncode == 124, "it hangs: no refusal, no error"
    assert {ssh(lab, name, "hostname").stdout for name in lab.nodes} == {
        "gpu1\n",
        "gpu2\n",
        "gpu3\n",
    }
    two.heal()
    assert one.run(knock).returncode == 0


def test_a_lossy_cable_is_slow_but_loses_no_byte(lab: Lab) -> None:
    lab.nodes["gpu1"].lose(percent=5)
    assert ssh(lab, "gpu1", "seq 20000").stdout.split() == [str(i) for i in range(1, 20001)]


def test_a_throttled_cable_has_the_rate_it_was_given(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    read_2_mb = "head -c 2000000 /dev/zero | tr '\\0' x"
    node.throttle(mbit_per_s=16)
    began = time.monotonic()
    assert len(ssh(lab, "gpu1", read_2_mb).stdout) == 2_000_000
    assert time.monotonic() - began > 0.9
    node.heal()
    began = time.monotonic()
    assert len(ssh(lab, "gpu1", read_2_mb).stdout) == 2_000_000
    assert time.monotonic() - began < 0.9


def test_a_small_disk_is_full_soon(lab: Lab) -> None:
    lab.nodes["gpu1"].limit_space("/home/lab/jobs", size_bytes=1_000_000)
    answer = ssh(lab, "gpu1", "head -c 2000000 /dev/zero > jobs/a; wc -c < jobs/a")
    assert "No space left" in answer.stderr
    assert int(answer.stdout) < 1_100_000


def test_a_cut_node_boots_cut(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    node.cut()
    node.power_off()
    node.power_on()
    with pytest.raises(TimeoutError):
        socket.create_connection((node.address, 22), timeout=0.3)
    node.heal()
    assert ssh(lab, "gpu1", "hostname").stdout == "gpu1\n"


def test_a_stopped_sshd_refuses_while_open_sessions_go_on(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    with open_session(lab, "gpu1", COUNTER) as session:
        assert session.stdout is not None
        assert session.stdout.readline() == "1\n"
        node.stop_sshd()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((node.address, 22), timeout=5)
        assert session.stdout.readline() == "2\n"
        node.start_sshd()
        for proc in node.sshd_sessions():
            node.kill(proc)
        assert session.wait(10) == 255
    assert ssh(lab, "gpu1", "hostname").stdout == "gpu1\n"


def test_a_changed_host_key_is_refused_until_it_is_trusted(lab: Lab) -> None:
    node = lab.nodes["gpu2"]
    first = node.host_key_fingerprint
    node.change_host_key()
    assert node.host_key_fingerprint != first
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in ssh(lab, "gpu2", "hostname").stderr
    lab.trust_host_keys()
    assert ssh(lab, "gpu2", "hostname").stdout == "gpu2\n"


def test_python_can_be_absent_from_one_node_alone(lab: Lab) -> None:
    look = "command -v python3"
    assert ssh(lab, "gpu1", look).stdout == "/usr/bin/python3\n"
    lab.nodes["gpu1"].hide_python()
    assert ssh(lab, "gpu1", look).returncode != 0
    assert ssh(lab, "gpu2", look).returncode == 0
    assert os.access("/usr/bin/python3", os.X_OK)


def test_sessions_find_the_environment_and_the_shell_they_were_given(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    node.set_environment({"STAND_IN": "two words"})
    node.set_login_shell("/bin/sh")
    assert ssh(lab, "gpu1", 'echo "$STAND_IN $0"').stdout == "two words sh\n"


def test_a_wiped_node_is_new_and_keeps_its_identity(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    key = node.host_key_fingerprint
    node.change_host_key()
    node.write("/home/lab/a", "one")
    node.cut()
    node.wipe()
    assert node.host_key_fingerprint == key
    assert ssh(lab, "gpu1", "ls ~").stdout == ""


def test_sessions_may_use_a_cgroup_of_their_own(lab: Lab) -> None:
    if leftovers.cgroup_root() is None:
        pytest.skip("no cgroup v2 can be made on this machine")
    job = "/sys/fs/cgroup/job"
    made = (
        f"mkdir {job} && sh -c 'echo 0 > {job}/cgroup.procs; sleep 1000 & cat /proc/self/cgroup'"
        f" && echo 1 > {job}/cgroup.kill && while grep -q . {job}/cgroup.procs; do :; done"
    )
    assert ssh(lab, "gpu1", made).stdout.splitlines()[-1] == "0::/job"
    assert "sleep" not in {proc.comm for proc in lab.nodes["gpu1"].processes()}


def test_a_closed_lab_leaves_nothing(start_lab: Callable[..., Lab]) -> None:
    lab = start_lab(2)
    host_pids = [proc.host_pid for node in lab.nodes.values() for proc in node.processes()]
    assert len(leftovers.remains(lab.name)) >= 5
    lab.nodes["gpu1"].power_off()
    lab.close()
    assert leftovers.remains(lab.name) == []
    assert not [pid for pid in host_pids if Path(f"/proc/{pid}").exists()]


def test_what_a_killed_maker_left_is_swept_by_the_next(start_lab: Callable[..., Lab]) -> None:
    argv = [sys.executable, "-m", "tests.cluster", "--nodes", "2"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        name = Path(maker.stdout.readline().strip()).parent.name
        assert leftovers.remains(name)
        host_pids = run(["ip", "netns", "pids", f"{name}-gpu1"]).split()
        maker.send_signal(signal.SIGKILL)
        maker.wait()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in host_pids), "the nodes to die")
    start_lab(1)
    assert leftovers.remains(name) == []


def test_the_lab_for_play_ends_with_ctrl_c() -> None:
    argv = [sys.executable, "-m", "tests.cluster", "--nodes", "1"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as play:
        assert play.stdout is not None
        config = Path(play.stdout.readline().strip())
        answer = subprocess.run(
            ["ssh", "-F", str(config), "gpu1", "hostname"], check=False, capture_output=True
        )
        assert answer.stdout == b"gpu1\n"
        play.send_signal(signal.SIGINT)
        assert play.wait(20) == 0
    assert leftovers.remains(config.parent.name) == []
