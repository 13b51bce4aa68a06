"""Small instances for hypothesis, and the plain lists of an instance for the oracles."""

from __future__ import annotations

from hypothesis import strategies as st

from whimbrel.placement import PlacementInstance


@st.composite
def instances(
    draw,
    most_queries=12,
    most_sources=6,
    most_servers=4,
    degree=3,
    rates=(1, 2, 3, 5),
    nus=("0", "0.05", "0.25", "0.5", "1"),
    alphas=("0", "1", "2.5"),
    uneven=False,
    least_degree=1,
):
    sources = draw(st.integers(max(2, least_degree), most_sources))
    rows = st.lists(st.integers(0, sources - 1), min_size=least_degree, max_size=min(degree, sources), unique=True)
    queries = draw(st.lists(rows, min_size=1, max_size=most_queries))
    servers = draw(st.integers(1, most_servers))
    weights = st.lists(st.integers(1, 4), min_size=len(queries), max_size=len(queries))
    capacities = st.lists(st.integers(1, 3), min_size=servers, max_size=servers)
    return PlacementInstance.of(
        rates=draw(st.lists(st.sampled_from(rates), min_size=sources, max_size=sources)),
        queries=queries,
        servers=servers,
        nu=draw(st.sampled_from(nus)),
        alpha=draw(st.sampled_from(alphas)),
        work=draw(weights) if uneven else None,
        capacities=draw(capacities) if uneven else None,
    )


def plain(instance):
    """(rates, queries, work, capacities) as plain lists."""
    queries = [instance.row(q) for q in range(instance.queries)]
    return instance.rates.tolist(), queries, instance.work.tolist(), instance.capacities.tolist()
