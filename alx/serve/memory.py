"""What the C library does with free memory. It is glibc's; others are left as they are."""

import contextlib
import ctypes

__all__ = ["give_back", "keep_little"]

MMAP_THRESHOLD = -3  # of mallopt
LARGE = 1 << 18  # bytes of what is given back as soon as it is free

_no_glibc = contextlib.suppress(AttributeError, OSError, TypeError)


def keep_little() -> None:
    """Give large arrays back when they are freed.

    By itself glibc learns from the first ones to keep them, and in what it keeps those that live long lie
    between those that do not: memory grew by some megabytes a minute.
    """
    with _no_glibc:
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, LARGE)


def give_back() -> None:
    """Give back what is free, as after compiling, which takes some hundred megabytes for a moment."""
    with _no_glibc:
        ctypes.CDLL(None).malloc_trim(0)
