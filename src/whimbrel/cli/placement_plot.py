"""Pictures of placements: work and traffic of every server, the fullest first; traffic and balance over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.cli.answers import writable_file
from whimbrel.model import BadInput
from whimbrel.placement import Placement, PlacementInstance
from whimbrel.placement.simulation import Course


def require_picture(path: Path) -> None:
    """Raises BadInput where no picture can be drawn, or not in the format that the suffix names, or not there."""
    pyplot = _pyplot()
    figure = pyplot.figure()
    known = figure.canvas.get_supported_filetypes()
    pyplot.close(figure)
    suffix = path.suffix.lstrip(".").lower()
    if suffix and suffix not in known:
        raise BadInput(f"--plot {path}: there is no format '{suffix}': use svg, png or pdf")
    writable_file("--plot", path)


def save_placement_picture(instance: PlacementInstance, found: Placement, path: Path) -> None:
    """Writes the picture; the suffix chooses the format (svg, png, pdf). BadInput where that is impossible."""
    pyplot = _pyplot()
    order = np.argsort(-found.loads, kind="stable")
    place = np.arange(instance.servers)
    figure, (upper, lower) = pyplot.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
    lower.xaxis.get_major_locator().set_params(integer=True)
    upper.bar(place, found.loads[order], width=1.0)
    upper.step(place, found.limits[order], where="mid", color="black", linestyle="--", linewidth=1, label="limit")
    upper.set_ylabel("work")
    upper.axhline(instance.total_work / instance.servers, color="tab:green", linewidth=1, label="mean")
    upper.legend(loc="lower left")
    lower.bar(place, _traffic_of_servers(instance, found)[order], width=1.0, color="tab:orange")
    lower.set_ylabel("traffic received")
    lower.set_xlabel("servers, the fullest first")
    upper.set_title(f"{found.algorithm}: replication factor {found.replication_factor:.3f}")
    _save(pyplot, figure, path)


def save_course_picture(courses: Mapping[str, Course], path: Path) -> None:
    """Writes replication, balance and what is live over time, a line per rule. BadInput where that is impossible."""
    pyplot = _pyplot()
    figure, panels = pyplot.subplots(3, 1, figsize=(8, 8), sharex=True, layout="constrained")
    for rule, course in courses.items():
        step = course.column("step")
        panels[0].plot(step, course.replication_factors(), label=rule, linewidth=1)
        panels[1].plot(step, course.imbalances(), label=rule, linewidth=1)
    first = next(iter(courses.values()))
    panels[2].plot(first.column("step"), first.column("live"), color="black", linewidth=1)
    servers = panels[2].twinx()
    servers.step(first.column("step"), first.column("servers"), color="tab:gray", linewidth=1, where="post")
    servers.set_ylim(bottom=0)
    servers.set_ylabel("servers (gray)")
    for axes, name in zip(panels, ("replication factor", "fullest / mean load", "live queries (black)"), strict=True):
        axes.set_ylabel(name)
    panels[0].set_title("traffic per rate of the sources in use, and balance, over time")
    panels[0].legend()
    panels[2].set_xlabel("step")
    _save(pyplot, figure, path)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise BadInput("--plot needs matplotlib: install whimbrel[viz]") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _save(pyplot: Any, figure: Any, path: Path) -> None:
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
