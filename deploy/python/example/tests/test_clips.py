"""Clips travel from the backend to phones, and back."""

from __future__ import annotations

import os

from scores import APP
from scores.clips import Clips

from dormouse import Dormouse


def test_a_phone_downloads_a_clip_while_its_app_sleeps(dormouse: Dormouse, clips: Clips) -> None:
    clip = os.urandom(300_000)
    url = clips.store(clip)
    assert clips.read(url, 1000, 2000) == clip[1000:2000]

    phone = dormouse.device("ios26").install(APP)
    phone.user.opens()
    phone.set_network("none")
    download = phone.download(url, headers={**dormouse.headers}, save_as="goal.mp4")
    phone.user.goes_home()
    dormouse.advance("5m")
    assert download.waiting == "waitingForConnectivity", phone.why()

    phone.set_network("wifi")
    assert download.wait().content == clip, phone.why()


def test_a_phone_uploads_a_clip(dormouse: Dormouse, clips: Clips) -> None:
    phone = dormouse.device("ios26").install(APP)
    phone.user.opens()
    clip = os.urandom(100_000)
    upload = phone.upload(
        f"{dormouse.endpoints.transfer}/uploads",
        clip,
        method="POST",
        headers={**dormouse.headers, "Upload-Complete": "?1"},
    )
    assert upload.wait().error is None, phone.why()
    assert upload.status == 201
