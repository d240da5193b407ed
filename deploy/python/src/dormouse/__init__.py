"""Tests for backends of iOS apps, against simulated devices.

A test gets the fixture ``dormouse``::

    def test_score_arrives(dormouse):
        phone = dormouse.device("ios26").install("com.example.scores", modes=["remote-notification"])
        phone.user.opens()
        phone.user.goes_home()
        send_score_with_my_backend(phone.token)
        dormouse.advance("10m")
        assert phone.notifications.last.status == "Shown", phone.why()
"""

from .app import App
from .behaviour import BuiltIn, Wake
from .device import Device
from .notifications import Notification, Notifications, Status
from .problems import DormouseError, NotSettled, Problem, SuiteFailed
from .records import Record
from .refreshes import Refresh, TaskRun
from .services import Endpoints
from .session import Dormouse
from .suite import Suite
from .transfers import Transfer
from .user import User

__all__ = [
    "App",
    "BuiltIn",
    "Device",
    "Dormouse",
    "DormouseError",
    "Endpoints",
    "NotSettled",
    "Notification",
    "Notifications",
    "Problem",
    "Record",
    "Refresh",
    "Status",
    "Suite",
    "SuiteFailed",
    "TaskRun",
    "Transfer",
    "User",
    "Wake",
]
