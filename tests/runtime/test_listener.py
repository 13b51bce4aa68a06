"""What a listener tells of steps."""

from whimbrel.runtime.listener import EpochReport, Reports, StepReport


def test_a_step_lasts_from_its_first_epoch_to_the_commit_of_its_installs():
    reports = Reports()
    for epoch, (step, bins, sent) in enumerate([(0, 0, 0), (1, 3, 900), (2, 2, 500), (0, 0, 0), (3, 1, 200)]):
        reports(EpochReport(epoch, 1000 * (epoch + 1), 700, 50, bins, sent, 4, step))
    assert reports.steps() == [StepReport(1, 4, 1, 3, 900, 1700), StepReport(2, 4, 2, 2, 500, 1700)]
