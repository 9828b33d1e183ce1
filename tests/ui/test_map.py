"""The map on a real, headless screen."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core.cluster import Cluster, LinkState, Moment, Node
from cockpit.ui.screens.cluster import ClusterScreen
from cockpit.ui.widgets.gpu_map import GpuMap
from cockpit.ui.widgets.map_layout import Zoom
from tests.ui.lab import CHINESE, MONO, WALL, cluster, gpu, job, lab, moved, node
from tests.ui.model import MemoryModel
from tests.ui.seen import cockpit, screen, until, until_seen


async def test_every_state_of_a_gpu_is_told_without_colour() -> None:
    async with cockpit(MemoryModel(), 120, 36) as pilot:
        await until_seen(pilot, "A15")
        shown = screen(pilot.app)
        for told in ("@alice", "· free", "▲ Xid 79", "░", "gpu4 ✗", "next try in 8 s"):
            assert told.replace(" ", "") in shown.replace(" ", ""), told


async def test_a_dead_node_keeps_its_last_readings_and_their_age_grows() -> None:
    model = MemoryModel()
    async with cockpit(model, 120, 36) as pilot:
        await until_seen(pilot, "41s ago")
        model.cluster = replace(model.cluster, now=Moment(WALL + 2, MONO + 2))
        await until_seen(pilot, "43s ago")
        assert "B7" in screen(pilot.app)


async def test_a_job_that_starts_appears_on_its_gpus() -> None:
    one = node("gpu1", (gpu("gpu1", 0), gpu("gpu1", 1)))
    model = MemoryModel(cluster({"gpu1": one}))
    async with cockpit(model) as pilot:
        await until_seen(pilot, "free")
        model.cluster = cluster({"gpu1": one}, job(1, (one,), 2))
        await until_seen(pilot, "A1")
        assert "2 held idle" in screen(pilot.app)


async def test_only_the_lines_of_nodes_that_changed_are_drawn_again() -> None:
    model = MemoryModel(lab(4))
    async with cockpit(model, 120, 40) as pilot:
        map_ = pilot.app.screen.query_one(GpuMap)
        await until_seen(pilot, "A15")
        strips = dict(map_._strips)
        nodes = dict(model.cluster.nodes)
        nodes["gpu1"] = moved(model.cluster, 7).nodes["gpu1"]
        model.cluster = replace(model.cluster, nodes=nodes)
        await until(pilot, lambda: map_._strips.get(1) is not strips[1])
        await pilot.pause()
        same = [y for y, strip in map_._strips.items() if strip is strips[y]]
        assert set(range(3, 9)) <= set(same)


async def test_the_cursor_stays_on_its_gpu_when_nodes_come_and_zoom_changes() -> None:
    model = MemoryModel(lab(2))
    async with cockpit(model) as pilot:
        map_ = pilot.app.screen.query_one(GpuMap)
        await pilot.press("G", "left")
        assert map_.cursor is not None
        assert (map_.cursor.node, map_.cursor.unit) == ("gpu2", 6)
        model.cluster = lab(30)
        await until(pilot, lambda: map_.zoom is not Zoom.FULL)
        assert (map_.cursor.node, map_.cursor.unit) == ("gpu2", 6)
        for _ in Zoom:
            await pilot.press("z")
            assert (map_.cursor.node, map_.cursor.unit) == ("gpu2", 6)


async def test_a_gpu_far_below_is_scrolled_into_view() -> None:
    async with cockpit(MemoryModel(lab(64))) as pilot:
        map_ = pilot.app.screen.query_one(GpuMap)
        await until(pilot, lambda: map_.zoom is Zoom.DOTS)
        await pilot.press("z", "G")
        assert map_.zoom is Zoom.FULL
        await until_seen(pilot, "gpu64:7")
        await until_seen(pilot, "no answer")
        await pilot.press("g")
        await until_seen(pilot, "gpu1:0")


async def test_slots_are_shown_where_there_is_no_gpu() -> None:
    one = node("cpu1", slots=4)
    async with cockpit(MemoryModel(cluster({"cpu1": one}, job(1, (one,), 2)))) as pilot:
        await until_seen(pilot, "4 CPU slots")
        shown = screen(pilot.app)
        assert "2 busy" in shown
        assert "libnvidia-ml" in shown


async def test_a_node_that_needs_a_person_says_what_to_do() -> None:
    words = "the host key changed; compare it, then run `ssh-keygen -R gpu9`"
    refused = Node("gpu9", link=LinkState.REFUSED, error=words)
    async with cockpit(MemoryModel(cluster({"gpu9": refused})), 120, 30) as pilot:
        await until_seen(pilot, words)
        await pilot.press("d")
        await until_seen(pilot, "refused since")


async def test_connecting_nodes_say_what_takes_time() -> None:
    nodes = {name: Node(name, phase="shipping 120/300 MB") for name in ("a", "b")}
    async with cockpit(MemoryModel(cluster(nodes))) as pilot:
        await until_seen(pilot, "shipping 120/300 MB")
        assert "0/2 nodes" in screen(pilot.app)


async def test_an_empty_cluster_is_drawn() -> None:
    async with cockpit(MemoryModel(Cluster())) as pilot:
        await until_seen(pilot, "no node yet")
        await pilot.press("z", "j", "l", "enter", "d")
        assert isinstance(pilot.app.screen_stack[0], ClusterScreen)


async def test_wide_names_do_not_shift_the_columns() -> None:
    name = CHINESE * 20
    nodes = {name: node(name, (gpu("a", 0, 50.0),)), "b": node("b", (gpu("b", 0, 50.0),))}
    async with cockpit(MemoryModel(cluster(nodes))) as pilot:
        map_ = pilot.app.screen.query_one(GpuMap)
        for _ in Zoom:
            await pilot.press("z")
            for y in range(4):
                assert map_.render_line(y).cell_length == map_.scrollable_content_region.width
