"""Commands of the planning group: ``plan``, ``plan-sequence``, ``balance``, ``transfers``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from whimbrel.cli.answers import INFEASIBLE, note, print_json
from whimbrel.model import BadInput

JSON = typer.Option(False, "--json", help="Print one JSON object.")


def register(app: typer.Typer) -> None:
    """Adds this group's commands."""
    app.command("plan")(plan)
    app.command("plan-sequence")(plan_sequence)
    app.command("balance")(balance)
    app.command("transfers")(transfers)


def plan(
    directory: Path | None = typer.Argument(None, metavar="[DIR]", help="Directory of a job, instead of --instance."),
    instance: Path | None = typer.Option(None, "--instance", help="JSON file: work, state, intervals, slots, tau."),
    planner: str = typer.Option("ssm", "--planner", help="ssm, any-map, mtm, even, redist and others."),
    slots: int | None = typer.Option(None, "--slots", help="Target slots; overrides the instance."),
    tau: float | None = typer.Option(None, "--tau", help="Imbalance allowed: 0.2 is 20 % over the mean."),
    give_up: list[int] | None = typer.Option(None, "--give-up", help="A slot that must end empty; repeat for more."),
    clip: bool = typer.Option(False, "--clip", help="Count bins heavier than the limit as the limit."),
    projected: Path | None = typer.Option(None, "--projected", help="Projected costs for planner mtm."),
    gamma: float | None = typer.Option(None, "--gamma", help="Weight of projected costs for planner mtm."),
    drift: bool = typer.Option(False, "--drift", help="mtm: accept costs projected for an older load."),
    seed: int | None = typer.Option(None, "--seed", help="Ring of planner consistent-hashing."),
    engine: str | None = typer.Option(None, "--engine", help="ssm: auto, plain, layered or lagrangian."),
    plot: Path | None = typer.Option(None, "--plot", help="Also draw the plan to this file (svg, png, pdf)."),
    json_output: bool = JSON,
) -> None:
    """Say what should move where: the least state, under the limit (1 + tau) * work / slots."""
    if (directory is None) == (instance is None):
        raise BadInput("name either a job's directory or --instance FILE")
    if directory is not None:
        from whimbrel.cli.jobs import plan_directory  # type: ignore[attr-defined]

        plan_directory(directory, slots, planner, tau, json_output)
        return
    assert instance is not None
    given = {"projected": projected, "gamma": gamma, "drift": drift or None, "seed": seed, "engine": engine}
    options = {name: value for name, value in given.items() if value is not None}
    _plan_instance(instance, planner, slots, tau, tuple(give_up or ()), clip, options, plot, json_output)


def _plan_instance(
    instance: Path,
    planner: str,
    slots: int | None,
    tau: float | None,
    give_up: tuple[int, ...],
    clip: bool,
    options: dict[str, Any],
    plot: Path | None,
    json_output: bool,
) -> None:
    from whimbrel.cli.planning_input import read_plan_input
    from whimbrel.cli.planning_tables import plan_fields, print_plan
    from whimbrel.planning import plan as ask

    read = read_plan_input(instance)
    read = replace(read, slots=slots if slots is not None else read.slots, tau=tau if tau is not None else read.tau)
    if read.slots is None or read.tau is None:
        missing = "slots" if read.slots is None else "tau"
        raise BadInput(f'{instance}: there is no "{missing}": write it there or pass --{missing}')
    answer = ask(
        planner,
        read.load,
        read.current,
        read.slots,
        read.tau,
        give_up=give_up or read.give_up,
        capacities=read.capacities,
        current_slots=read.current_slots,
        clip=clip,
        **options,
    )
    if plot is not None and not answer.feasible:
        note(f"{plot}: nothing to draw, there is no plan")
    elif plot is not None:
        from whimbrel.cli.planning_plot import save_plan_picture

        save_plan_picture(answer, read.load, plot)
    if json_output:
        print_json(plan_fields(answer, read.current_slots))
    else:
        print_plan(answer, read.load, read.current_slots)
    if not answer.feasible:
        raise typer.Exit(INFEASIBLE)


def plan_sequence(
    instance: Path = typer.Option(..., "--instance", help="JSON file: work, state, intervals, targets."),
    rounds: int = typer.Option(6, "--rounds", help="How long to search where the question is too large for proof."),
    json_output: bool = JSON,
) -> None:
    """Plan a known sequence of changes together, so that the total moved is the least."""
    from whimbrel.cli.planning_input import read_plan_input, read_targets, refuse_capacities
    from whimbrel.cli.planning_tables import print_sequence, sequence_fields
    from whimbrel.planning.sequence import plan_sequence as ask

    read = read_plan_input(instance)
    refuse_capacities(instance, read, "plan-sequence")
    if read.give_up:
        raise BadInput(f'{instance}: plan-sequence does not know "give_up": plan that step alone with `whimbrel plan`')
    answer = ask(read.load, read.current, read_targets(instance), rounds=rounds)
    if json_output:
        print_json(sequence_fields(answer, read.current_slots))
    else:
        print_sequence(answer)
    if not answer.feasible:
        raise typer.Exit(INFEASIBLE)


def balance(
    instance: Path = typer.Option(..., "--instance", help="JSON file: work, state, intervals, slots."),
    slots: int | None = typer.Option(None, "--slots", help="Target slots; overrides the instance."),
    budget: float | None = typer.Option(None, "--within", help="Only the best balance that moves at most this much."),
    plot: Path | None = typer.Option(None, "--plot", help="Also draw cost against tau to this file."),
    json_output: bool = JSON,
) -> None:
    """Every best trade of cost against balance, exactly: choose tau from it."""
    from whimbrel.cli.planning_input import read_plan_input, refuse_capacities
    from whimbrel.cli.planning_tables import balance_fields, print_balances
    from whimbrel.planning.cost_and_balance import cheapest_balance_within, pareto

    read = read_plan_input(instance)
    wanted = slots if slots is not None else read.slots
    if wanted is None:
        raise BadInput(f'{instance}: there is no "slots": write it there or pass --slots')
    refuse_capacities(instance, read, "balance")
    if budget is None:
        points = list(pareto(read.load, read.current, wanted, read.give_up))
    else:
        best = cheapest_balance_within(read.load, read.current, wanted, budget, read.give_up)
        points = [best] if best is not None else []
    if plot is not None:
        from whimbrel.cli.planning_plot import save_balance_picture

        save_balance_picture(points, plot)
    if json_output:
        print_json({"feasible": bool(points), "slots": wanted, "points": [balance_fields(point) for point in points]})
    else:
        print_balances(points)
    if not points:
        raise typer.Exit(INFEASIBLE)


def transfers(
    instance: Path = typer.Option(..., "--instance", help="JSON file: bytes[from][to], uplink, downlink."),
    json_output: bool = JSON,
) -> None:
    """Order the transfers into phases that keep the busiest link busy throughout."""
    from whimbrel.cli.planning_input import read_schedule
    from whimbrel.cli.planning_tables import print_schedule, schedule_fields

    schedule = read_schedule(instance)
    if json_output:
        print_json(schedule_fields(schedule))
    else:
        print_schedule(schedule)
