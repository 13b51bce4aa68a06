"""A picture of a placement: the work and the traffic of every server, the fullest first, with their limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from whimbrel.model import BadInput
from whimbrel.placement import Placement, PlacementInstance


def save_placement_picture(instance: PlacementInstance, found: Placement, path: Path) -> None:
    """Writes the picture; the suffix chooses the format (svg, png, pdf). BadInput where that is impossible."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise BadInput("--plot needs matplotlib: install whimbrel[viz]") from None
    order = np.argsort(-found.loads, kind="stable")
    place = np.arange(instance.servers)
    figure, (upper, lower) = pyplot.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
    upper.bar(place, found.loads[order], width=1.0)
    upper.step(place, found.limits[order], where="mid", color="black", linestyle="--", linewidth=1, label="limit")
    upper.set_ylabel("work")
    upper.legend()
    lower.bar(place, _traffic_of_servers(instance, found)[order], width=1.0, color="tab:orange")
    lower.set_ylabel("traffic received")
    lower.set_xlabel("servers, the fullest first")
    upper.set_title(f"{found.algorithm}: replication factor {found.replication_factor:.3f}")
    try:
        figure.savefig(path)
    except (ValueError, OSError) as error:
        raise BadInput(f"{path}: {' '.join(str(error).split())}") from None
    finally:
        pyplot.close(figure)


def _traffic_of_servers(instance: PlacementInstance, found: Placement) -> np.ndarray:
    pairs = np.unique(np.repeat(found.server, instance.degrees) * len(instance.rates) + instance.sources)
    server, source = np.divmod(pairs, len(instance.rates))
    return np.bincount(server, weights=instance.rates[source], minlength=instance.servers)
