from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trace.models.hf.batches import decode_groups, from_both_ends, prefill_batches

lengths = st.lists(st.integers(1, 3000), max_size=80)


@given(lengths, st.integers(1, 4096))
def test_prefill_batches_hold_every_row_once_within_the_budget(
    rows: list[int], tokens: int
) -> None:
    batches = prefill_batches(rows, tokens)
    assert sorted(i for batch in batches for i in batch) == list(range(len(rows)))
    flat = [rows[i] for batch in batches for i in batch]
    assert flat == sorted(rows, reverse=True)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * rows[batch[0]] <= tokens


@given(lengths, st.integers(1, 4096), st.integers(1, 40))
def test_decode_groups_keep_the_order_and_the_number_of_rows(
    lens: list[int], tokens: int, rows: int
) -> None:
    batches = prefill_batches(lens, tokens)
    groups = decode_groups(batches, rows)
    assert [i for g in groups for b in g for i in b] == [i for b in batches for i in b]
    assert all(1 <= sum(map(len, group)) <= rows for group in groups)


@given(st.integers(0, 30))
def test_groups_are_taken_from_both_ends(count: int) -> None:
    groups = [[[i]] for i in range(count)]
    order = [group[0][0] for group in from_both_ends(groups)]
    assert sorted(order) == list(range(count))
    assert order[:4] == [0, count - 1, 1, count - 2][:count] or count < 4
