from __future__ import annotations

import pytest

from dormouse.behaviour import Handlers, Result, completion


@pytest.mark.parametrize(
    ("reason", "kind", "result", "document"),
    [
        ("fetch", "fetch", None, {"result": "newData"}),
        ("push", "push", "noData", {"result": "noData"}),
        ("push", "pushToTalk", None, {"pushResult": "leaveChannel"}),
        ("push", "pushToTalk", "activeRemoteParticipant", {"pushResult": "activeRemoteParticipant"}),
        ("task", "processingTask", None, {"success": True}),
        ("task", "refreshTask", "failure", {"success": False}),
        ("transfer", "transfer", None, {}),
        ("location", "region", None, {}),
    ],
)
def test_each_wake_has_its_result(reason: str, kind: str, result: Result | None, document: dict[str, object]) -> None:
    assert completion(reason, kind, result) == document


def test_a_result_of_another_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="'success' is no result of a wake for fetch: use newData, noData, failed"):
        completion("fetch", "fetch", "success")


def test_the_handler_of_an_app_is_before_that_of_all_apps() -> None:
    handlers = Handlers()
    handlers.set("push", None, "noData", "5s", True, None)
    handlers.set("push", "a", None, 0, False, None)
    assert not handlers.find("push", "a").completes
    assert handlers.find("push", "b").takes == 5
    assert handlers.find("fetch", "a").completes
