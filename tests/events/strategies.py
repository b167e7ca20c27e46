"""Arbitrary captured values."""

from __future__ import annotations

from hypothesis import strategies as st

from btpy.events.records import (
    Closed,
    ClosedObject,
    CutString,
    EnumValue,
    MappingValue,
    ObjectValue,
    SequenceValue,
    StackRef,
    Value,
    Withheld,
)

U4 = st.integers(0, 2**32 - 1)
# Any UTF-16 text, with lone surrogates. A pair written as two code points would read back as one.
TEXT = st.one_of(
    st.text(max_size=20),
    st.text(st.characters(categories=["Cs"]), max_size=1),
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    TEXT,
    st.builds(CutString, TEXT, U4),
    st.builds(EnumValue, TEXT, TEXT),
    st.builds(StackRef, U4),
    st.builds(ClosedObject, TEXT, U4, st.sampled_from(Closed)),
    st.sampled_from(Withheld),
)


def _compound(children: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    fields = st.lists(st.tuples(TEXT, children), max_size=3).map(tuple)
    pairs = st.lists(st.tuples(children, children), max_size=3).map(tuple)
    return st.one_of(
        st.builds(ObjectValue, TEXT, U4, fields, st.booleans()),
        st.builds(SequenceValue, TEXT, st.integers(3, 2**32 - 1), st.lists(children, max_size=3).map(tuple)),
        st.builds(MappingValue, TEXT, U4, pairs),
    )


VALUES: st.SearchStrategy[Value] = st.recursive(LEAVES, _compound, max_leaves=10)
