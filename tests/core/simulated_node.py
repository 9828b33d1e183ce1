"""A node in memory that behaves as docs/protocol.md says: leases, claims, runs, pushes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]
Key = tuple[str, int]
"""Run and attempt."""
CONFIRM_S = 60.0
LIVE = frozenset({"prepared", "started", "confirmed", "stopping"})


class NodeRefusal(Exception):
    """The node says no."""

    def __init__(self, code: str, message: str, retry: bool) -> None:
        super().__init__(message)
        self.code, self.message, self.retry = code, message, retry


@dataclass(slots=True)
class SimulatedRun:
    spec: Mapping[str, Any]
    state: str = "prepared"
    port: int | None = None
    since_s: float = 0.0
    exit: Body | None = None
    grace_s: float | None = None
    lines: bytes = b""
    """What rank 0 printed."""


@dataclass(slots=True)
class SimulatedNode:
    """Verbs in, replies out; `pushes` are the RunStates that it told by itself."""

    name: str
    units: Sequence[str]
    now_s: float = 0.0
    boot: int = 1
    runs: dict[Key, SimulatedRun] = field(default_factory=dict)
    closed: set[tuple[str, int, str]] = field(default_factory=set)
    """Claims that were aborted; nothing of them may come."""
    starts: dict[Key, int] = field(default_factory=dict)
    """How often each attempt was truly started here."""
    checkpoints: list[Body] = field(default_factory=list)
    pushes: list[Body] = field(default_factory=list)
    refuse: NodeRefusal | None = None
    """The answer to the next prepare."""

    def hello(self) -> Body:
        return {
            "hostname": self.name, "user": "me", "python": "3.11", "boot_id": str(self.boot),
            "state_root": "/state", "address": "10.0.0.1", "interface": "eth0", "cores": 8,
        }  # fmt: skip

    def reading(self) -> Body:
        leases = [
            {"unit": unit, "run": key[0], "attempt": key[1], "user": "me", "name": "job"}
            for key, run in self.runs.items()
            if run.state in LIVE
            for unit in run.spec["units"]
        ]
        gpus = [
            {"uuid": uuid, "index": index, "name": "GPU", "simulated": True, "processes": []}
            for index, uuid in enumerate(self.units)
        ]
        return {"seq": 1, "time": 1.0, "gpus": gpus, "gpu_source": "simulated", "leases": leases}

    def request(self, verb: str, body: Mapping[str, Any]) -> Body:
        """Raises NodeRefusal."""
        match verb:
            case "prepare":
                return self._prepare(body["spec"])
            case "go":
                return self._go(self._run(body))
            case "confirm":
                run = self._run(body)
                if run.state == "started":
                    self._become(run, "confirmed")
                return {}
            case "abort":
                return self._abort(body)
            case "stop":
                return self._stop(self._run(body), body["grace_s"], body["reason"])
            case "runs":
                return {"runs": [self.state_of(run) for run in self.runs.values()]}
            case "checkpoints":
                return {"checkpoints": list(self.checkpoints)}
        raise NodeRefusal("Fault", f"no verb {verb}", retry=False)

    def _prepare(self, spec: Mapping[str, Any]) -> Body:
        key, claim = (spec["run"], spec["attempt"]), spec["claim"]
        if (*key, claim) in self.closed:
            raise NodeRefusal("Gone", "this claim was aborted", retry=True)
        held = self.runs.get(key)
        if held is not None:
            if held.spec["claim"] != claim:
                raise NodeRefusal("Busy", "held under another claim", retry=True)
            return {"port": held.port}
        if self.refuse is not None:
            refusal, self.refuse = self.refuse, None
            raise refusal
        taken = {u for run in self.runs.values() if run.state in LIVE for u in run.spec["units"]}
        if taken & set(spec["units"]):
            raise NodeRefusal("Busy", f"{sorted(taken)} are leased", retry=True)
        port = 29000 + len(self.starts) if spec["node_rank"] == 0 else None
        self.runs[key] = SimulatedRun(spec, port=port, since_s=self.now_s)
        return {"port": port}

    def _go(self, run: SimulatedRun) -> Body:
        if run.state == "prepared":
            key = (run.spec["run"], run.spec["attempt"])
            self.starts[key] = self.starts.get(key, 0) + 1
            run.since_s = self.now_s
            self._become(run, "started")
        return {}

    def _abort(self, body: Mapping[str, Any]) -> Body:
        key = (body["run"], body["attempt"])
        self.closed.add((*key, body["claim"]))
        run = self.runs.get(key)
        if run is not None and run.spec["claim"] == body["claim"]:
            if run.state in ("prepared", "lost"):
                del self.runs[key]
            elif run.state in LIVE:
                self.end(run, None, "aborted", stopped=True)
        return {}

    def _stop(self, run: SimulatedRun, grace_s: float, reason: str) -> Body:
        if run.state in LIVE:
            run.grace_s = grace_s if run.grace_s is None else min(run.grace_s, grace_s)
            run.since_s = self.now_s
            run.spec = {**run.spec, "stop_reason": reason}
            self._become(run, "stopping")
        return {}

    def _run(self, body: Mapping[str, Any]) -> SimulatedRun:
        run = self.runs.get((body["run"], body["attempt"]))
        if run is None:
            raise NodeRefusal("Gone", "it was never prepared here, or undone", retry=True)
        return run

    def live(self) -> list[SimulatedRun]:
        return [run for run in self.runs.values() if run.state in LIVE]

    def end(
        self,
        run: SimulatedRun,
        code: int | None,
        reason: str = "",
        stopped: bool = False,
        signal: str | None = None,
    ) -> None:
        """Everything of the run is gone; a rank's own failure is named."""
        failed = not stopped and (code != 0 or signal is not None)
        rank = run.spec["node_rank"] * run.spec["nproc"]
        words = f"was ended by {signal}" if signal else f"exited with code {code}"
        message = f"rank {rank} {words}"
        failure = {"rank": rank, "code": code, "signal": signal, "message": message}
        run.exit = {
            "code": code, "signal": signal, "stopped": stopped, "reason": reason, "leftovers": 0,
            "first_failure": failure if failed else None,
        }  # fmt: skip
        self._become(run, "ended")

    def advance(self, seconds: float) -> None:
        """Time passes: graces end, and a start that nobody confirmed undoes itself."""
        self.now_s += seconds
        for key, run in list(self.runs.items()):
            waited_s = self.now_s - run.since_s
            if run.state == "stopping" and waited_s >= (run.grace_s or 0):
                self.end(run, None, str(run.spec.get("stop_reason", "")), stopped=True)
            elif run.state == "prepared" and waited_s >= CONFIRM_S:
                del self.runs[key]
            elif run.state == "started" and waited_s >= CONFIRM_S:
                self.end(run, None, "not confirmed", stopped=True)

    def reboot(self) -> None:
        self.boot += 1
        for run in self.live():
            self._become(run, "lost")

    def _become(self, run: SimulatedRun, state: str) -> None:
        run.state = state
        self.pushes.append(self.state_of(run))

    def state_of(self, run: SimulatedRun) -> Body:
        started = run.state != "prepared"
        stream = {"name": "0.stdout", "rank": 0, "stream": "stdout", "size": len(run.lines)}
        return {
            "type": "run", "run": run.spec["run"], "attempt": run.spec["attempt"],
            "node": self.name, "node_rank": run.spec["node_rank"], "state": run.state,
            "streams": [stream] if started and run.spec["node_rank"] == 0 else [],
            "ranks": [], "exit": run.exit,
        }  # fmt: skip
