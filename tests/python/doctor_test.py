#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the doctor says where all is well, and where something is missing."""
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys

from support import BUILD, PackageTest, unittest


class Doctor(PackageTest):
    def doctor(self, *words, **environment):
        return subprocess.run([sys.executable, "-m", "optima.doctor", *words], capture_output=True, text=True, env={**os.environ, **environment})

    def rows(self, code, **environment):
        ran = self.doctor("--json", **environment)
        self.assertEqual((ran.returncode, ran.stderr), (code, ""), ran.stdout)
        report = json.loads(ran.stdout)
        self.assertEqual(report["ok"], code == 0)
        return {row["name"]: row for row in report["rows"]}, report

    def test_all_that_is_needed_is_here(self):
        rows, report = self.rows(0)
        for name in ("optima", "optima-host", "optima.runtime", "plugin llvm_cpu", "plugin reference", "numpy", "torch", "onnx", "onnxscript", "networkx", "tqdm", "onnxruntime"):
            self.assertTrue(rows[name]["ok"], rows[name])
        self.assertEqual(rows["numpy"]["found"], importlib.metadata.version("numpy"))
        self.assertIn(str(BUILD), rows["optima-host"]["found"])
        converter = rows["tf2onnx"]
        self.assertFalse(converter["needed"])
        self.assertEqual(converter["fix"], "" if converter["ok"] else f"{sys.executable} -m pip install tensorflow tf2onnx")
        self.assertIn("llvm_cpu/X64:0", [d["full_name"] for d in report["devices"]])
        ran = self.doctor()
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertTrue(ran.stdout.endswith("ready: models can be compiled and run\n"))

    def test_what_is_missing_is_named_with_its_command_and_no_program_is_needed(self):
        tools = self.folder / "bin"
        tools.mkdir()
        rows, _ = self.rows(0, PATH=str(tools))
        self.assertEqual(rows["Graphviz"]["fix"], "apt-get install graphviz")
        for name, wanted, of in (("aiohttp", "aiohttp", "optima.serve"), ("prometheus_client", "prometheus_client", "optima.serve"), ("ray", "'ray[data,serve]'", "optima.scale on a cluster")):
            self.assertEqual((rows[name]["ok"], rows[name]["needed"], rows[name]["purpose"]), (False, False, of))
            self.assertEqual(rows[name]["fix"], f"{sys.executable} -m pip install {wanted}")
        said = self.doctor(PATH=str(tools)).stdout
        self.assertIn(f"-    aiohttp: not installed\n       for: optima.serve; get it: {sys.executable} -m pip install aiohttp\n", said)
        self.assertTrue(said.endswith("ready: models can be compiled and run\n"))

    def test_a_missing_program_is_named(self):
        rows, _ = self.rows(1, OPTIMA_HOST="/nowhere/optima-host")
        self.assertFalse(rows["optima-host"]["ok"])
        self.assertIn("'/nowhere/optima-host' does not start", rows["optima-host"]["found"])
        self.assertIn("scripts/wheel", rows["optima-host"]["fix"])

    def test_refused_plugins_are_told_with_the_hosts_reason(self):
        plugins = self.folder / "plugins"
        plugins.mkdir()
        shutil.copy(BUILD / "lib/optima/plugins/optima_reference.so", plugins)
        (plugins / "optima_broken.so").write_bytes(b"no library")
        rows, _ = self.rows(1, OPTIMA_PLUGINS=str(plugins))
        broken = rows[f"plugin {plugins / 'optima_broken.so'}"]
        self.assertFalse(broken["ok"])
        self.assertTrue(broken["found"])
        self.assertTrue(rows["plugin reference"]["ok"])
        rows, _ = self.rows(1, OPTIMA_PLUGINS=str(self.folder / "nowhere"))
        self.assertIn("no such folder", rows["optima-host"]["found"])

    def test_a_package_without_its_binding_says_so(self):
        copy = self.folder / "python/optima"
        copy.mkdir(parents=True)
        for source in (BUILD / "python/optima").glob("*.py"):
            shutil.copy(source, copy)
        (copy / "_native").symlink_to(BUILD)
        rows, _ = self.rows(1, PYTHONPATH=str(copy.parent))
        self.assertRegex(rows["optima.runtime"]["found"], "the native binding does not load: .*; bindings here are for: none$")
        self.assertIn(f"scripts/wheel --python {sys.executable}, then pip install", rows["optima.runtime"]["fix"])
        ran = subprocess.run([sys.executable, "-c", "import optima.runtime"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(copy.parent)})
        self.assertIn("ImportError: the native binding optima._runtime does not load: ", ran.stderr.splitlines()[-1])
        self.assertTrue(rows["optima-host"]["ok"])

    def test_a_package_for_another_python_says_for_which(self):
        copy = self.folder / "other/optima"
        copy.mkdir(parents=True)
        for name in ("_runtime.cpython-399-x86_64-linux-gnu.so", "_runtime.abi3.so.part"):
            (copy / name).touch()
        for source in (BUILD / "python/optima").glob("*.py"):
            shutil.copy(source, copy)
        said = subprocess.run([sys.executable, "-c", "from optima import _native; print(_native.pythons_of_binding()); import optima.runtime"], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(copy.parent)})
        self.assertEqual(said.stdout, "cpython-399-x86_64-linux-gnu\n")
        self.assertIn("bindings here are for: cpython-399-x86_64-linux-gnu; wanted a wheel of scripts/wheel --python", said.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
