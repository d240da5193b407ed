"""Tests of the client. Those that use ``dormouse`` need a suite."""
