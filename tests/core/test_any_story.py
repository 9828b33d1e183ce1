"""Whatever happens, in whatever order: no rule is broken, and a healthy lab comes to its end."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from cockpit.core.jobs import Checkpoint, Resume
from tests.core.simulated_lab import SimulatedLab
from tests.core.simulated_node import NodeRefusal

STORIES = 100
NAMES = ("a", "b", "c")
SOURCES: tuple[Resume | Checkpoint, ...] = (
    Resume.NEWEST,
    Resume.NOTHING,
    Checkpoint(7, "/given/step-7"),
)
nodes = st.sampled_from(NAMES)
jobs = st.integers(1, 4)
places = st.integers(0, 30)
sources = st.sampled_from(SOURCES)
waits = st.sampled_from([1, 1, 5, 61, 130, 700])


class AnyStory(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.lab = SimulatedLab(*NAMES)

    @rule(count=st.integers(1, 3), gpus=st.integers(1, 2))
    def submit(self, count: int, gpus: int) -> None:
        if len(self.lab.cluster.jobs) < 4:
            self.lab.submit(count, gpus)

    @rule(job=jobs, grace_s=st.sampled_from([None, 0, 5]), forsake=st.booleans())
    def cancel(self, job: int, grace_s: int | None, forsake: bool) -> None:
        self.lab.cancel(job, grace_s, forsake)

    @rule(job=jobs, wanted=sources)
    def restart(self, job: int, wanted: Resume | Checkpoint) -> None:
        self.lab.restart(job, wanted)

    @rule(at=places, count=st.integers(1, 6))
    def deliver(self, at: int, count: int) -> None:
        for step in range(count):
            self.lab.deliver(at + step)

    @rule(at=places, count=st.integers(1, 6), twice=st.booleans())
    def hear(self, at: int, count: int, twice: bool) -> None:
        for step in range(count):
            self.lab.hear(at + step, twice)

    @rule(node=nodes)
    def hear_push(self, node: str) -> None:
        self.lab.hear_push(node)

    @rule()
    def all_goes_well_for_a_while(self) -> None:
        for _ in range(40):
            if not (self.lab.deliver(0) or self.lab.hear(0)):
                break

    @rule(node=nodes)
    def cut(self, node: str) -> None:
        self.lab.cut(node)

    @rule(node=nodes)
    def heal(self, node: str) -> None:
        self.lab.heal(node)

    @rule(node=nodes)
    def read(self, node: str) -> None:
        self.lab.read(node)

    @rule(node=nodes, how=st.sampled_from([(0, None), (3, None), (-9, "SIGKILL")]))
    def a_run_ends(self, node: str, how: tuple[int, str | None]) -> None:
        self.lab.end_one(node, *how)

    @rule(node=nodes)
    def a_node_starts_anew(self, node: str) -> None:
        self.lab.cut(node)
        self.lab.nodes[node].reboot()

    @rule(node=nodes, retry=st.booleans())
    def a_node_will_refuse(self, node: str, retry: bool) -> None:
        self.lab.nodes[node].refuse = NodeRefusal("Disk", "no room", retry)

    @rule(seconds=waits)
    def wait(self, seconds: int) -> None:
        self.lab.wait(seconds)

    @rule()
    def the_engine_starts_anew(self) -> None:
        self.lab.restart_engine()

    def teardown(self) -> None:
        self.lab.come_to_an_end()


def play(lab: SimulatedLab, chance: random.Random) -> None:
    """One happening, more often of the kind that brings jobs on."""
    node, job = chance.choice(NAMES), chance.randint(1, 4)
    at = chance.randint(0, 30)
    match chance.choices(range(13), (8, 8, 6, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1))[0]:
        case 0:
            lab.deliver(at)
        case 1:
            lab.hear(at, twice=chance.random() < 0.3)
        case 2:
            lab.hear_push(node)
        case 3:
            lab.wait(chance.choice([1, 1, 6, 6, 61, 130, 700]))
        case 4 if len(lab.cluster.jobs) < 4:
            lab.submit(chance.randint(1, 3), chance.randint(1, 2))
        case 5:
            lab.end_one(node, *chance.choice([(0, None), (3, None), (-9, "SIGKILL")]))
        case 6:
            lab.cut(node)
        case 7:
            lab.heal(node)
        case 8:
            lab.restart(job, chance.choice(SOURCES))
        case 9:
            lab.nodes[node].refuse = NodeRefusal("Disk", "no room", chance.random() < 0.8)
        case 10:
            lab.cancel(job, chance.choice([None, 0, 5]), forsake=chance.random() < 0.3)
        case 11:
            lab.restart_engine()
        case 12:
            lab.cut(node)
            lab.nodes[node].reboot()


@pytest.mark.parametrize("tens", range(STORIES // 10))
def test_no_long_story_breaks_a_rule(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        lab, chance = SimulatedLab(*NAMES), random.Random(seed)
        for _ in range(200):
            play(lab, chance)
        lab.come_to_an_end()


TestAnyStory = AnyStory.TestCase
TestAnyStory.settings = settings(
    max_examples=80,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
