"""What a forked child does with the open files of its parent: it lets the locks go, and leaves the databases alone.

A child has copies of the parent's connections.  To close one there, as the interpreter does at its end, would move the parent's log into
the file and remove it while the parent writes on: so a child never closes them.
"""

import os
import sqlite3
import weakref
from typing import Protocol


class Holder(Protocol):
    """Has files open."""

    def let_go(self) -> None:
        """In a forked child: neither the parent nor the child is the worse for it."""


_holders: "weakref.WeakSet[Holder]" = weakref.WeakSet()


def hold(holder: Holder) -> None:
    """From now on, and as long as it lives, a forked child lets it go."""
    _holders.add(holder)


def never_close(connection: sqlite3.Connection) -> None:
    """One reference that is never given back."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _after_fork() -> None:
    for holder in list(_holders):
        holder.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
