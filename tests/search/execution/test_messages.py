"""Messages between driver and worker, sent as Tune sends them."""

from ray.tune.utils import flatten_dict

from seedwise.search.execution.messages import RunOrder, StepReport
from tests.search.execution.test_worker import ORDER


def test_an_order_survives_the_keys_that_tune_adds():
    assert RunOrder.of(ORDER.as_dict() | {"__trial_info__": None}) == ORDER


def test_a_report_survives_any_names_of_metrics():
    metrics = {"value": 0.1 + 0.2, "test/f1/de": 1e-300, "done": 1.0, "metrics/x": 2.0}
    for report in (
        StepReport(metrics=metrics, epoch=2, epochs=3, has_checkpoint=True, node="n"),
        StepReport(error="no room"),
    ):
        result = flatten_dict(report.as_dict() | {"config": ORDER.as_dict(), "time_total_s": 1.0})
        assert StepReport.of(result) == report
