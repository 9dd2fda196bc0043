"""Comparisons and measurements; none of this is in the wheel."""

from alx.io import cache

cache.keep_matplotlib()
