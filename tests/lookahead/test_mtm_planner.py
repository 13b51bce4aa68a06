"""The mtm planner: the exact best choice, the single step among its candidates, stale projections refused."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.lookahead.conftest import small_instance
from tests.lookahead.plain_projection import step_cost

from whimbrel.model import Assignment, BadInput, Damaged, Load
from whimbrel.planning import plan
from whimbrel.planning.instance import Instance
from whimbrel.planning.mtm_backtest import backtest_folder
from whimbrel.planning.mtm_choice import ExactChoice
from whimbrel.planning.mtm_matrix import TransitionMatrix
from whimbrel.planning.mtm_planner import propose
from whimbrel.planning.projection_exact import project_exact
from whimbrel.planning.projection_problem import Problem
from whimbrel.planning.validator import faults_of


def cuts_of(target: Assignment) -> tuple[int, ...]:
    return tuple(b for b in range(1, target.bins) if target.owner[b] != target.owner[b - 1])


def chain(instance, planner, slots, **options):
    at = plan("ssm", instance.load, Assignment.even(instance.load.bins, 4), 4, instance.tau).target
    for count in slots:
        answer = plan(planner, instance.load, at, count, instance.tau, **options)
        yield at, answer
        at = answer.target


SLOTS = (5, 6, 4, 6, 5, 4, 5, 6, 5, 4)


def test_the_choice_is_the_best_of_all_stored_partitions(instance, folder):
    rows = pq.read_table(folder).to_pylist()
    for at, answer in chain(instance, "mtm", SLOTS, projected=folder):
        values = {
            tuple(row["boundaries"]): step_cost(instance.load, cuts_of(at), tuple(row["boundaries"]))
            + instance.gamma * row["cost"]
            for row in rows
            if row["slots"] == answer.slots
        }
        assert answer.cost + instance.gamma * answer.projected_cost == pytest.approx(min(values.values()))
        assert not faults_of(answer, instance.load, contiguous=True)


def test_with_gamma_zero_every_plan_is_the_single_step(instance, folder, tmp_path):
    blind = replace(instance, gamma=0.0)
    project_exact(Problem.of(blind), tmp_path)
    for at, answer in chain(instance, "mtm", SLOTS, projected=folder, gamma=0.0):
        assert answer.target == plan("ssm", instance.load, at, answer.slots, instance.tau).target
        assert answer.target == plan("mtm", instance.load, at, answer.slots, "0.3", projected=tmp_path).target


def test_looking_ahead_never_costs_less_now_and_less_in_the_long_run(instance, folder):
    random = np.random.default_rng(2)
    states, matrix = instance.states, np.array(instance.matrix)
    slots, at = [], 0
    for _ in range(300):
        at = int(random.choice(3, p=matrix[at]))
        slots.append(states[at])
    ahead = sum(answer.cost for _, answer in chain(instance, "mtm", slots, projected=folder))
    single = sum(answer.cost for _, answer in chain(instance, "ssm", slots))
    assert ahead < single


def test_a_projection_for_another_load_or_tau_is_refused(instance, folder):
    at = Assignment.even(24, 4)
    other = Load((*instance.load.work[:-1], instance.load.work[-1] + 1), instance.load.state)
    with pytest.raises(BadInput, match="stale"):
        plan("mtm", other, at, 5, "0.3", projected=folder)
    with pytest.raises(BadInput, match=r"projected for tau 0\.3, not 0\.4"):
        plan("mtm", instance.load, at, 5, "0.4", projected=folder)
    with pytest.raises(BadInput, match="projected for 24 bins"):
        plan("mtm", Load((1,), (1,)), Assignment((0,)), 5, "0.3", projected=folder)


def test_the_same_load_in_another_spelling_is_the_same_load(instance, folder):
    floats = Load(tuple(float(w) for w in instance.load.work), instance.load.state)
    assert plan("mtm", floats, Assignment.even(24, 4), 5, 0.30, projected=folder).feasible


def test_an_unknown_slot_count_and_a_missing_folder_are_refused(instance, folder, tmp_path):
    with pytest.raises(BadInput, match="knows the slot counts"):
        plan("mtm", instance.load, Assignment.even(24, 4), 7, "0.3", projected=folder)
    with pytest.raises(BadInput, match="holds no projection"):
        plan("mtm", instance.load, Assignment.even(24, 4), 5, "0.3", projected=tmp_path / "none")


def test_costs_of_another_instance_in_the_folder_are_refused(folder, instance, tmp_path):
    mixed = tmp_path / "mixed"
    shutil.copytree(folder, mixed)
    project_exact(Problem.of(small_instance(gamma=0.5)), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "costs.parquet", mixed / "costs.parquet")
    with pytest.raises(BadInput, match="another instance"):
        plan("mtm", instance.load, Assignment.even(24, 4), 5, "0.3", projected=mixed)


def test_a_stamp_that_was_edited_is_damaged(folder, instance, tmp_path):
    edited = tmp_path / "edited"
    shutil.copytree(folder, edited)
    path = edited / "_instance.json"
    value = json.loads(path.read_text())
    value["instance"]["gamma"] = 0.1
    path.write_text(json.dumps(value))
    with pytest.raises(Damaged, match="project again"):
        plan("mtm", instance.load, Assignment.even(24, 4), 5, "0.3", projected=edited)


def _cut_short(path):
    path.write_bytes(path.read_bytes()[:-20])


def _one_byte_changed(path):
    held = bytearray(path.read_bytes())
    held[len(held) // 3] ^= 0xFF
    path.write_bytes(held)


def _not_a_number(path):
    table = pq.read_table(path)
    pq.write_table(table.set_column(2, "cost", [[float("nan")] * len(table)]), path)


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("costs.parquet", _cut_short),
        ("costs.parquet", _one_byte_changed),
        ("costs.parquet", _not_a_number),
        ("costs.parquet", lambda path: pq.write_table(pq.read_table(path).drop(["cost"]), path)),
        ("_additive.arrow", _cut_short),
        ("_instance.json", _cut_short),
        ("_instance.json", lambda path: path.write_text("[1]")),
        ("_instance.json", lambda path: path.write_text('{"digest": "of something else"}')),
    ],
)
def test_a_damaged_folder_is_refused_by_the_name_of_its_file(folder, instance, tmp_path, name, harm):
    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    harm(damaged / name)
    with pytest.raises(Damaged, match=rf"{name}.*project again"):
        plan("mtm", instance.load, Assignment.even(24, 4), 5, "0.3", projected=damaged)


def test_under_drift_the_additive_form_plans_within_the_limit_of_the_new_load(instance, folder):
    random = np.random.default_rng(4)
    at = Assignment.even(24, 4)
    for slots in SLOTS:
        work = tuple(float(w * random.lognormal(0, 0.15)) for w in instance.load.work)
        load = Load(work, instance.load.state)
        proposal = propose(Instance(load, at, slots, "0.3"), folder, drift=True)
        if proposal.target is None:
            assert "smallest tau" in proposal.reason
            continue
        loads = [sum(work[b] for b in proposal.target.bins_of(s)) for s in proposal.target.active_slots]
        assert max(loads) <= 1.3 * sum(work) / slots * (1 + 1e-12)
        assert "additive" in proposal.reason
        at = proposal.target


def test_an_infeasible_slot_count_is_an_answer(tmp_path):
    instance = small_instance()
    heavy = replace(instance, load=Load((70, *instance.load.work[1:]), instance.load.state))
    project_exact(Problem.of(heavy), tmp_path)
    answer = plan("mtm", heavy.load, Assignment.even(24, 4), 6, "0.3", projected=tmp_path)
    assert not answer.feasible
    assert not faults_of(answer, heavy.load)


def test_one_choice_takes_less_than_two_milliseconds(instance, folder):
    problem = Problem.of(instance)
    choice = ExactChoice(problem, np.zeros(problem.size), 0.8)
    prefix = problem.prefix
    choice.choose((6, 12, 18), 5, prefix)
    taken = []
    for _ in range(50):
        started = time.perf_counter()
        choice.choose((6, 12, 18), 5, prefix)
        taken.append(time.perf_counter() - started)
    assert min(taken) < 0.002


@pytest.mark.parametrize("gamma", [0.5, 0.95])
def test_with_a_back_test_look_ahead_never_costs_one_percent_more_than_the_single_step(gamma, tmp_path):
    """Over instances of several kinds: judged on one half of a chain, walked on the other."""
    saved = []
    for seed in range(12):
        instance = small_instance(gamma, seed)
        if seed % 3 == 0:
            instance = replace(instance, load=Load((5,) * 24, instance.load.state))
        project_exact(Problem.of(instance), tmp_path / str(seed))
        drawn = TransitionMatrix(instance.states, (), instance.matrix, ()).draw(4, 400, np.random.default_rng(seed))
        backtest_folder(tmp_path / str(seed), drawn[:200])
        ahead = sum(answer.cost for _, answer in chain(instance, "mtm", drawn[200:], projected=tmp_path / str(seed)))
        single = sum(answer.cost for _, answer in chain(instance, "ssm", drawn[200:]))
        saved.append(1 - ahead / single)
    assert min(saved) >= -0.01, saved
    assert max(saved) > 0.02, saved
