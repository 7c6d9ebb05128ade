"""The drawings: whatever is measured stays inside the picture, and no text becomes markup."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from deployer.measure.numbers import Spread
from deployer.views.plots import Plot, Series, nice_step, svg

_VALUES = st.floats(0.001, 1e6)
_SPREADS = st.none() | st.lists(_VALUES, min_size=5, max_size=5).map(lambda v: Spread(*sorted(v)))
# What XML can hold at all; a name of a stack or a file has no more.
_NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]), max_size=20)


@given(st.data())
def test_it_is_well_formed_and_nothing_leaves_it(data):
    places = data.draw(st.lists(_NAMES, min_size=1, max_size=5).map(tuple))
    values = st.tuples(*[_SPREADS for _ in places])
    series = data.draw(st.lists(st.builds(Series, _NAMES, values), min_size=1, max_size=2).map(tuple))
    band = data.draw(st.none() | st.tuples(_VALUES, _VALUES, _NAMES).map(lambda b: (min(b[:2]), max(b[:2]), b[2])))
    drawing = svg(Plot(data.draw(_NAMES), "x", "y", places, series, band))
    root = ElementTree.fromstring(drawing)
    for node in root.iter():
        for name in ("y", "y1", "y2", "cy"):
            assert -1 <= float(node.get(name, 0)) <= 300, ElementTree.tostring(node)
        for name in ("x1", "x2", "cx"):
            assert -1 <= float(node.get(name, 0)) <= 520, ElementTree.tostring(node)
    assert len(root.findall(".//{*}g/{*}circle/{*}title")) == sum(v is not None for one in series for v in one.values)


@given(st.floats(1e-6, 1e9))
def test_ticks_are_few_and_round(highest):
    step = nice_step(highest)
    assert 1.9 <= highest / step <= 5.001
    assert re.fullmatch(r"(1|2|2\.5|5|10)(\.0*)?e[+-]\d+", re.sub(r"0+e", "e", f"{step:.6e}").replace(".e", "e"))
