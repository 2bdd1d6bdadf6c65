#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optima-host as a child of Python: documents, events, errors, and how it is ended."""
import os
import pathlib
import subprocess
import sys
import unittest

from support import BUILD, DIGITS, PackageTest

from optima import _host, _native

MODEL = DIGITS / "digits.onnx"


class Host(PackageTest):
    def children(self):
        """Ids of this process' children."""
        return pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()

    def test_documents(self):
        document = _host.run_json("plan", MODEL, "--device", "X64:0")
        self.assertEqual(len(document["nodes"]), 16)

    def test_progress_comes_as_events_in_order(self):
        told = []
        document = _host.run_json("compile", MODEL, "-o", self.folder / "told", "--device", "X64:0", progress=lambda fraction, stage: told.append((fraction, stage)))
        self.assertEqual(len(document["nodes"]), 16)
        self.assertIn("reading", told[0][1])
        self.assertEqual(told[0][0], 0.0)
        self.assertTrue(all(0 <= fraction <= 1 for fraction, _ in told))
        self.assertIn("writing the package", [stage for _, stage in told])

    def test_how_progress_is_asked_for(self):
        def stderr(*words):
            words = [*words, "compile", MODEL, "-o", self.folder / "asked", "--device", "X64:0", "--force"]
            ran = subprocess.run([BUILD / "bin/optima-host", *words], capture_output=True, text=True, check=True)
            return ran.stderr.splitlines()
        self.assertEqual(stderr("--json"), [])
        self.assertEqual(stderr("--progress", "none"), [])
        for quiet in ([], ["--json"]):
            self.assertTrue(all(line.startswith('{"progress":') for line in stderr("--progress", "json", *quiet)))
            self.assertGreater(len(stderr("--progress", "json", *quiet)), 0)
        self.assertIn(f"reading {MODEL}", stderr("--progress", "lines", "--json"))
        self.fails("usage", "--progress: found 'lots', wanted bar, lines, json or none", _host.run, "--progress", "lots", "plugins")

    def test_errors_are_the_programs_sentences(self):
        error = self.fails("placement", "is pinned to NULL:0", _host.run, "compile", MODEL, "-o", self.folder / "no", "--device", "X64:0", "--pin", "/Softmax=NULL:0")
        self.assertEqual((error.node, error.device), ("/Softmax", "NULL:0"))
        self.assertFalse((self.folder / "no").exists())
        self.fails("invalid_input", "/nowhere.onnx", _host.run, "compile", "/nowhere.onnx", "-o", self.folder)
        self.fails("usage", "unknown verb 'complie', wanted", _host.run, "complie")
        self.fails("tolerance", "", _host.run, "diff", self.plan("X64:0"), self.plan("REF:0"))

    def plan(self, device):
        path = self.folder / f"{device}.json"
        _host.run("plan", MODEL, "--device", device, "-o", path)
        return path

    def test_warnings_go_to_logging(self):
        says = self.script("says", "echo 'optima-host: warning: much' >&2; echo 'optima-host: note: little' >&2; echo 'optima-host: warn: llvm_cpu: more' >&2; echo done")
        with self.environment(OPTIMA_HOST=says), self.assertLogs("optima", "DEBUG") as heard:
            self.assertEqual(_host.run("plugins"), "done\n")
        self.assertEqual(heard.output, ["WARNING:optima:much", "INFO:optima:note: little", "WARNING:optima:llvm_cpu: more"])

    def test_a_callback_that_raises_ends_the_program_first(self):
        for raised in (KeyboardInterrupt, ZeroDivisionError):
            def stop(fraction, stage):
                raise raised
            with self.assertRaises(raised):
                _host.run("compile", MODEL, "-o", self.folder / "stopped", "--device", "X64:0", progress=stop)
            self.assertEqual(self.children(), [])
            self.assertFalse((self.folder / "stopped").exists())

    def test_a_program_that_is_killed_is_an_error(self):
        fake = self.script("killed", "kill -9 $$")
        with self.environment(OPTIMA_HOST=fake):
            self.fails("internal", "optima-host was ended by SIGKILL", _host.run, "plugins")
        with self.environment(OPTIMA_HOST=self.script("silent", "exit 9")):
            self.fails("internal", "optima-host ended with exit code 9: it said nothing", _host.run, "plugins")
        with self.environment(OPTIMA_HOST=self.script("stopped", "kill -TERM $$")):
            self.fails("cancelled", "optima-host was ended by SIGTERM", _host.run, "plugins")

    def test_a_program_that_does_not_listen_is_killed(self):
        fake = self.script("deaf", "trap '' INT; echo '{\"progress\":0,\"stage\":\"listening to nobody\"}' >&2; while :; do read -t 1 < /dev/zero; done")
        before, _host.GRACE = _host.GRACE, 0.2

        def stop(fraction, stage):
            raise KeyboardInterrupt
        try:
            with self.environment(OPTIMA_HOST=fake), self.assertRaises(KeyboardInterrupt):
                _host.run("compile", progress=stop)
        finally:
            _host.GRACE = before
        self.assertEqual(self.children(), [])

    def test_a_program_that_talks_on_can_end(self):
        ending = f"seq 1 50000 >&2; touch {self.folder}/ended; exit 130"
        fake = self.script("talker", f"trap '{ending}' INT; echo '{{\"progress\":0,\"stage\":\"talking\"}}' >&2; while :; do sleep 0.01; done")

        def stop(fraction, stage):
            raise KeyboardInterrupt
        with self.environment(OPTIMA_HOST=fake), self.assertRaises(KeyboardInterrupt):
            _host.run("compile", progress=stop)
        self.assertTrue((self.folder / "ended").exists())

    def test_where_the_program_is(self):
        self.assertEqual(_native.program(), str(BUILD / "python/optima/_native/bin/optima-host"))
        with self.environment(OPTIMA_HOST="/nowhere/optima-host"):
            self.fails("plugin", "'/nowhere/optima-host' does not start: No such file or directory", _host.run, "plugins")
            self.assertEqual(_native.program("optima-run"), "/nowhere/optima-run")
        tree, _native.TREE = _native.TREE, self.folder
        try:
            with self.environment(PATH="/nowhere"):
                self.fails("usage", "optima-host is neither in this package nor on PATH", _native.program)
            with self.environment(PATH=str(BUILD / "bin")):
                self.assertEqual(_native.program(), str(BUILD / "bin/optima-host"))
        finally:
            _native.TREE = tree

    def test_the_console_scripts_become_the_programs(self):
        for entry, name in (("main", "optima-host"), ("main_of_run", "optima-run")):
            ran = subprocess.run([sys.executable, "-c", f"from optima._host import {entry}; {entry}()", "--version"], capture_output=True, text=True)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertTrue(ran.stdout.startswith(name), ran.stdout)

    def script(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
        return str(path)

    @staticmethod
    def environment(**values):
        from unittest import mock
        return mock.patch.dict(os.environ, values)


if __name__ == "__main__":
    unittest.main()
