"""Tests of the package; `python -m tests` runs all of them."""
