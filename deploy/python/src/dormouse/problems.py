"""Errors of the client."""

from __future__ import annotations


class DormouseError(Exception):
    """A failure of the suite, of a device, or of a call."""


class SuiteFailed(DormouseError):
    """A suite could not be started, found or stopped."""


class NotSettled(DormouseError):
    """A device did not answer all its orders in time."""


class Problem(DormouseError):
    """An error answer of a service.

    Attributes:
        status: the status of HTTP.
        code: the stable code of the problem, for example ``app_not_running``.
        detail: the explanation of the service.
    """

    def __init__(self, call: str, status: int, code: str, detail: str) -> None:
        super().__init__(f"{call}: {status} {code}: {detail}")
        self.status: int = status
        self.code: str = code
        self.detail: str = detail
