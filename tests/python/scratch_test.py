#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Temporary folders of the package: gone with their holder, or, when that was killed, with the next one that is made."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from unittest import mock

from support import PackageTest, unittest

from optima import _scratch

MAKE = "from optima import _scratch; made = _scratch.Folder('work'); (made.path / 'part').mkdir(); print(made.path, flush=True); input()"

FORK = """if True:
    import os, sys
    from optima import _scratch
    made = _scratch.Folder('work')
    if not os.fork():
        sys.exit(0)
    os.wait()
    print(made.path.is_dir())"""


class Scratch(PackageTest):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.temporary = pathlib.Path(made.name)
        patch = mock.patch.object(tempfile, "tempdir", made.name)
        patch.start()
        self.addCleanup(patch.stop)

    def holder(self):
        """A process with a folder, and that folder."""
        child = subprocess.Popen([sys.executable, "-B", "-c", MAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(self.temporary)})
        self.addCleanup(lambda: (child.kill(), child.communicate()))
        return child, pathlib.Path(child.stdout.readline().strip())

    def test_folders_go_with_their_objects(self):
        with _scratch.Folder("work") as path:
            self.assertTrue(path.is_dir())
        kept = _scratch.Folder("package")
        self.assertEqual(list(self.temporary.iterdir()), [kept.path])
        del kept
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_what_a_killed_process_left_goes_with_the_next_folder(self):
        alive, theirs = self.holder()
        dead, left = self.holder()
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        self.assertTrue((left / "part").is_dir())
        with _scratch.Folder("job") as ours:
            self.assertEqual(set(self.temporary.iterdir()), {theirs, ours})
        alive.communicate("\n")
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_folders_of_others_are_left_alone(self):
        others = [self.temporary / name for name in ("optima_results", "optima_work_12345678", "optima_jobs", "work")]
        for path in others:
            path.mkdir()
        (self.temporary / "optima_job_abcdefgh").symlink_to(others[0])
        with _scratch.Folder("work"):
            self.assertTrue(all(path.is_dir() for path in others))
            self.assertTrue((self.temporary / "optima_job_abcdefgh").is_symlink())

    def test_a_forked_childs_end_leaves_the_folder(self):
        said = subprocess.run([sys.executable, "-B", "-c", FORK], capture_output=True, text=True, check=True, env={**os.environ, "TMPDIR": str(self.temporary)}).stdout
        self.assertEqual(said, "True\n")
        self.assertEqual(list(self.temporary.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
