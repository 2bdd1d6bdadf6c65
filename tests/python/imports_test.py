#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What importing the package loads: by modules, not by the clock."""
import json
import subprocess
import sys
import unittest

from support import BUILD

HEAVY = {"numpy", "torch", "onnx", "onnxruntime", "asyncio", "subprocess", "logging", "json", "ml_dtypes", "networkx"}


def modules_after(program):
    """Names of the modules that a program has loaded and an empty one has not."""
    tell = "; import sys; sys.stdout.write('|'.join(sys.modules))"
    loaded = lambda text: set(subprocess.run([sys.executable, "-c", text + tell], capture_output=True, text=True, check=True).stdout.split("|"))
    return loaded(program) - loaded("pass")


class Imports(unittest.TestCase):
    def test_the_package_loads_nothing(self):
        added = modules_after("import optima")
        self.assertEqual({name for name in added if name.startswith("optima")}, {"optima"})
        self.assertLessEqual(added, {"optima", "importlib", "importlib._bootstrap", "importlib._bootstrap_external", "warnings"})

    def test_the_runtime_loads_nothing_heavy(self):
        added = modules_after("import optima.runtime")
        self.assertEqual(HEAVY & {name.partition(".")[0] for name in added}, set())
        self.assertLess(len(added), 70, sorted(added))

    def test_errors_load_no_binding(self):
        added = modules_after("import optima; optima.Error")
        self.assertNotIn("optima._runtime", added)

    def test_every_lazy_name_is_there(self):
        import optima
        for name in optima._LAZY:
            self.assertIsNotNone(getattr(optima, name), name)
            self.assertIn(name, dir(optima))
        self.assertIs(optima.runtime.Error, optima.Error)
        with self.assertRaisesRegex(AttributeError, "module 'optima' has no attribute 'compilr'"):
            optima.compilr

    def test_the_package_is_typed(self):
        folder = BUILD / "python/optima"
        self.assertTrue((folder / "py.typed").exists())
        stub = (folder / "_runtime.pyi").read_text()
        for name in ("class Tensor:", "class Request:", "class Model:", "class Context:", "class ElementType(enum.Enum):", "def set_input("):
            self.assertIn(name, stub)

    def test_what_users_call_is_annotated(self):
        from optima import runtime
        for kind in (runtime.Context, runtime.Model, runtime.InferRequest, runtime.Tensor, runtime.Error):
            for name, member in vars(kind).items():
                member = getattr(member, "fget", None) or getattr(member, "__func__", member)
                if callable(member) and (not name.startswith("_") or name == "__init__"):
                    code, hints = member.__code__, member.__annotations__
                    names = code.co_varnames[1:code.co_argcount + code.co_kwonlyargcount]
                    self.assertEqual([n for n in (*names, "return") if n not in hints], [], f"{kind.__name__}.{name}")

    def test_version_is_one_everywhere(self):
        import optima
        from optima import _host
        root = BUILD.parents[1]
        self.assertEqual(_host.run("--version"), f"optima-host {optima.__version__}\n")
        for wheel in ("python", "python-openvino"):
            self.assertIn(f'version = "{optima.__version__}"', (root / wheel / "pyproject.toml").read_text())
        self.assertIn(f'"optima=={optima.__version__}"', (root / "python-openvino/pyproject.toml").read_text())
        self.assertEqual(json.loads(_host.run("plugins", "--json"))["plugins"][0]["version"], optima.__version__)


if __name__ == "__main__":
    unittest.main()
