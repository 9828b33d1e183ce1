"""Where things stand on the map: every unit once, inside the width, in the best zoom that fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cockpit.ui.widgets.map_layout import NodeShape, Zoom, best, layout


def shapes(count: int, units: int = 8) -> list[NodeShape]:
    return [NodeShape(f"gpu{n}", units, True, len(f"gpu{n}")) for n in range(count)]


def test_two_nodes_are_told_in_full_on_a_small_screen() -> None:
    assert best(shapes(2), 79, 16) is Zoom.FULL


def test_eight_nodes_are_told_in_one_word_a_gpu_on_a_small_screen() -> None:
    assert best(shapes(8), 79, 16) is Zoom.COMPACT


def test_sixty_four_nodes_fit_on_the_smallest_screen() -> None:
    assert best(shapes(64), 79, 17) is Zoom.DOTS
    assert len(layout(shapes(64), 79, 17, Zoom.DOTS).lines) <= 17


@given(
    st.lists(st.integers(0, 17), max_size=40),
    st.integers(20, 250),
    st.integers(5, 80),
    st.sampled_from(Zoom),
)
def test_every_unit_has_one_place_inside_the_width(
    units: list[int], width: int, height: int, zoom: Zoom
) -> None:
    nodes = [NodeShape(f"n{n}", count, True, 3) for n, count in enumerate(units)]
    laid = layout(nodes, width, height, zoom)
    spots = [spot for row in laid.rows for spot in row]
    wanted = {(node.name, unit) for node in nodes for unit in range(max(1, node.units))}
    assert len(spots) == len(wanted)
    assert {(spot.node, spot.unit) for spot in spots} == wanted
    for spot in spots:
        assert spot.x + spot.width <= width
        assert spot.y + spot.height <= len(laid.lines)
