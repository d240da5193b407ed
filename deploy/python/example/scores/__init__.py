"""A small backend: it sends scores to phones, and stores clips of goals."""

APP = "com.example.scores"
"""The bundle identifier of the app, which is the topic of its pushes."""
