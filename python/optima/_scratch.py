# SPDX-License-Identifier: Apache-2.0
"""Temporary folders that outlive their process by little, however it ends: each is locked by who made it, and whoever makes one removes those of
his that nobody holds any more. Standard library alone.

    with Folder("work") as path:
        ...
"""
import fcntl
import os
import pathlib
import re
import shutil
import tempfile
import weakref

OURS = re.compile(r"optima_(work|package|job)_[a-z0-9_]{8}")
LOCK = ".lock"


class Folder:
    """optima_<kind>_… among temporary files, until remove() is called, nobody holds this object any more, or the program ends. path: pathlib.Path."""

    def __init__(self, kind):
        remove_dead(tempfile.gettempdir())
        self.path, lock = make(f"optima_{kind}_")
        self.remove = weakref.finalize(self, remove, self.path, lock, os.getpid())

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        self.remove()


def make(prefix):
    """A new folder and the descriptor that holds its lock."""
    while True:
        path = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        held(lock, fcntl.LOCK_EX)
        if (path / LOCK).exists():
            return path, lock
        os.close(lock)  # another process took it for a dead one's before it was locked


def held(lock, how):
    """Whether the lock is taken; where the file system has none nobody's folder counts as dead."""
    try:
        fcntl.flock(lock, how)
        return True
    except OSError:
        return False


def remove(path, lock, maker):
    if os.getpid() == maker:  # a forked child's copy of the object is not the folder's
        shutil.rmtree(path, ignore_errors=True)
    os.close(lock)


def remove_dead(parent):
    """What processes left that were killed."""
    for entry in os.scandir(parent):
        try:
            if OURS.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                remove_if_dead(pathlib.Path(entry.path))
        except OSError:  # another process was faster
            pass


def remove_if_dead(path):
    lock = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC)
    try:
        if held(lock, fcntl.LOCK_EX | fcntl.LOCK_NB):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
