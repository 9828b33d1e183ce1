"""Orders to nodes: given until they are taken, and what comes of each as a fact."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from cockpit.core.cluster import Moment
from cockpit.core.effects import Abort, Confirm, ListCheckpoints, Stop
from cockpit.core.events import CheckpointsListed, Event, RunsListed, Try, Undone
from cockpit.engine import hearsay
from cockpit.engine.ports import Body, FollowEvent, FollowHandle, NodeEvent, Refusal, Unreachable
from cockpit.engine.run import Runner
from tests.engine.seat import until

OF = Try("RUN", 1, "1.1", "a")
SILENT = Unreachable("a did not answer")
GONE = Refusal("Gone", "it is not here", retry=True)


@dataclass
class ScriptedNode:
    """Answers each verb with what comes next, the last answer for ever."""

    answers: dict[str, list[Body | Exception]]
    asked: list[tuple[str, Body]] = field(default_factory=list)

    def start(self, on_event: Callable[[NodeEvent], None]) -> None:
        raise AssertionError("nobody asks for links here")

    def retry(self) -> None:
        raise AssertionError("nobody waits here")

    async def request(self, node: str, verb: str, body: Body, timeout_s: float) -> Body:
        await asyncio.sleep(0)
        self.asked.append((verb, body))
        answers = self.answers[verb]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def follow(
        self, node: str, body: Body, sink: Callable[[FollowEvent], None]
    ) -> FollowHandle:
        raise AssertionError("nobody follows here")

    async def close(self) -> None:
        return

    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.asked]


class Bench:
    def __init__(self) -> None:
        self.node = ScriptedNode({})
        self.facts: list[Event] = []
        self.runner = Runner(self.node, self.facts.append, lambda: Moment(1.0, 1.0), again_s=0.01)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.runner.close()


async def test_a_stop_without_an_answer_is_given_again(bench: Bench) -> None:
    bench.node.answers = {"stop": [SILENT, SILENT, {}]}
    bench.runner.carry_out(Stop("RUN", 1, "a", 30, "cancelled"))
    await until(lambda: len(bench.node.asked) == 3, "three tries")
    body = {"run": "RUN", "attempt": 1, "grace_s": 30, "reason": "cancelled"}
    assert bench.node.asked == [("stop", body)] * 3


async def test_a_harder_stop_takes_the_place_of_one_that_was_not_taken(bench: Bench) -> None:
    bench.node.answers = {"stop": [SILENT]}
    bench.runner.carry_out(Stop("RUN", 1, "a", 30, "cancelled"))
    await until(lambda: bench.node.asked, "the first try")
    bench.runner.carry_out(Stop("RUN", 1, "a", 0, "killed"))
    await until(lambda: bench.node.asked[-1][1]["grace_s"] == 0, "the harder one")
    seen = len(bench.node.asked)
    await until(lambda: len(bench.node.asked) >= seen + 3, "it to be given again")
    assert {body["grace_s"] for _, body in bench.node.asked[seen:]} == {0}


async def test_a_node_that_refuses_a_stop_is_looked_at_anew(bench: Bench) -> None:
    bench.node.answers = {"stop": [GONE], "runs": [SILENT, {"runs": []}]}
    bench.runner.carry_out(Stop("RUN", 1, "a", 30, "cancelled"))
    await until(lambda: bench.facts, "a list of runs")
    assert bench.facts == [RunsListed("a", Moment(1.0, 1.0), (), frozenset({("RUN", 1)}))]
    assert bench.node.verbs() == ["stop", "runs", "runs"]


async def test_an_abort_is_given_until_nothing_is_left(bench: Bench) -> None:
    left = Refusal("Leftovers", "a process is in state D", retry=True)
    bench.node.answers = {"abort": [SILENT, left, {}]}
    bench.runner.carry_out(Abort(OF))
    await until(lambda: bench.facts, "the start to be undone")
    assert bench.facts == [Undone(OF, Moment(1.0, 1.0))]
    assert len(bench.node.asked) == 3


async def test_a_confirmation_that_comes_too_late_is_not_repeated(bench: Bench) -> None:
    bench.node.answers = {"confirm": [SILENT, GONE]}
    bench.runner.carry_out(Confirm(OF))
    await until(lambda: len(bench.node.asked) == 2, "both tries")
    assert bench.facts == []


async def test_a_list_of_checkpoints_that_nobody_can_give_says_why(bench: Bench) -> None:
    bench.node.answers = {"checkpoints": [Refusal("Fault", "Stale file handle", retry=True)]}
    bench.runner.carry_out(ListCheckpoints("RUN", "a", "/c"))
    await until(lambda: bench.facts, "the answer")
    (listed,) = bench.facts
    assert isinstance(listed, CheckpointsListed)
    assert listed.error == "a could not list /c: Stale file handle"


ODD: list[object] = [
    None,
    True,
    "x",
    -1,
    10**400,
    1e400,
    float("nan"),
    [],
    {},
    [[]],
    [{}],
    "\udcff",
]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_whatever_a_node_says_is_read_or_unknown(odd: object) -> None:
    keys = (
        "seq time cpu load memory network disks gpus slots leases uptime_s gpu_source gpu_message"
    )
    hearsay.reading(dict.fromkeys(keys.split(), odd))
    gpu = {
        "uuid": "GPU-1",
        "index": 0,
        "used_pct": odd,
        "processes": odd,
        "error": odd,
        "name": odd,
    }
    hearsay.reading({"gpus": [odd, gpu], "cpu": {"used_pct": odd}, "disks": [{"free_bytes": odd}]})
    hearsay.facts({"hostname": odd, "cores": odd})
    for key in ("run", "attempt", "state", "streams", "ranks", "exit"):
        hearsay.report({"run": "R", "attempt": 1, "state": "ended", key: odd})
    ended = {"code": odd, "signal": odd, "first_failure": odd, "leftovers": odd, "reason": odd}
    hearsay.report({"run": "R", "attempt": 1, "state": "ended", "exit": ended})
    hearsay.runs_listed("a", Moment(), {"runs": odd})
    hearsay.complete_checkpoints({"checkpoints": odd})
    hearsay.complete_checkpoints({"checkpoints": [{"step": odd, "path": odd, "complete": True}]})
