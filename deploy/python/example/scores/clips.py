"""Stores clips of goals on a server of tus, with tuspy, and reads them with httpx."""

from __future__ import annotations

import io

import httpx
from tusclient.client import TusClient
from tusclient.uploader.uploader import Uploader


class Clips:
    """The clips of the backend."""

    def __init__(self, server: str, headers: dict[str, str]) -> None:
        self._client: TusClient = TusClient(f"{server}/files", headers=headers)
        self._headers: dict[str, str] = headers

    def store(self, clip: bytes) -> str:
        """Uploads a clip in pieces, and returns its URL."""
        uploader = Uploader(file_stream=io.BytesIO(clip), chunk_size=64 * 1024, client=self._client)
        uploader.upload()
        if uploader.url is None:
            raise RuntimeError("the server gave no URL for the clip")
        return uploader.url

    def read(self, url: str, begin: int, end: int) -> bytes:
        """Downloads the bytes of a clip from ``begin`` up to, and without, ``end``."""
        span = f"bytes={begin}-{end - 1}"
        response = httpx.get(url, headers={**self._headers, "Range": span}).raise_for_status()
        return response.content
