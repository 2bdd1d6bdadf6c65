#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel in an environment that has nothing else: compiles and runs examples/digits, and finds all it needs in itself."""
import json
import pathlib
import subprocess
import venv
import zipfile

from support import BUILD, DIGITS, ROOT, PackageTest, unittest

RUN = """if True:
    import sys, numpy as np, optima
    from optima import _native
    assert "site-packages" in optima.__file__ and "site-packages" in _native.program(), _native.program()
    model = optima.runtime.Context().load_model(sys.argv[1])
    answer = model.run(image=np.load(sys.argv[2]))["probability"]
    np.save(sys.argv[3], answer)"""


class Wheel(PackageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        subprocess.run([ROOT / "scripts/wheel", "--no-build", "--build", BUILD, "-o", cls.folder / "wheel"], check=True, capture_output=True, text=True)
        cls.wheel = next((cls.folder / "wheel").glob("optima-*.whl"))
        venv.create(cls.folder / "env", with_pip=True)
        cls.python = cls.folder / "env/bin/python"
        cls.environment = {"PATH": f"{cls.folder}/env/bin:/usr/bin:/bin", "HOME": str(cls.folder), "TMPDIR": str(cls.folder)}
        subprocess.run([cls.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", cls.wheel], check=True)
        cls.borrow_numpy()

    @classmethod
    def borrow_numpy(cls):
        """The one thing that pip would have fetched."""
        import numpy
        theirs = pathlib.Path(numpy.__file__).parents[1]
        ours = next((cls.folder / "env/lib").glob("python3*")) / "site-packages"
        for name in ("numpy", "numpy.libs"):
            if (theirs / name).exists():
                (ours / name).symlink_to(theirs / name)

    def ran(self, *words):
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, cwd=self.folder, env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_digits_are_compiled_and_run(self):
        import numpy as np
        picture = np.random.default_rng(3).random((1, 1, 32, 32), np.float32)
        np.save(self.folder / "image.npy", picture)
        self.ran("optima-host", "compile", DIGITS / "digits.onnx", "-o", "out", "--alloc", DIGITS / "alloc_reference.json")
        self.ran(self.python, "-c", RUN, "out/digits", "image.npy", "by_python.npy")
        self.ran("optima-run", "out/digits", "--input", "image=image.npy", "-o", "by_program")
        by_python, by_program = np.load(self.folder / "by_python.npy"), np.load(self.folder / "by_program/probability.npy")
        self.assertEqual(by_python.tobytes(), by_program.tobytes())
        self.assertIn("ok  probability", self.ran("optima-host", "compare", DIGITS / "digits.onnx", "out/digits", "--input", "image=image.npy"))

    def test_the_doctor_finds_all_that_is_needed(self):
        report = json.loads(self.ran("optima-doctor", "--json"))
        rows = {row["name"]: row for row in report["rows"]}
        self.assertTrue(report["ok"])
        for name in ("plugin llvm_cpu", "plugin reference", "plugin spirv", "plugin snpe", "plugin bmcompiler"):
            self.assertTrue(rows[name]["ok"], name)
        self.assertIn("site-packages", rows["optima.runtime"]["found"])

    def test_nothing_is_looked_for_where_it_was_built(self):
        tree = next((self.folder / "env/lib").glob("python3*")) / "site-packages/optima"
        checked = 0
        for file in tree.rglob("*"):
            if file.is_file() and is_elf(file):
                said = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
                paths = [line.split("[")[1].rstrip("]") for line in said.splitlines() if "RUNPATH" in line or "RPATH" in line]
                self.assertTrue(all(part.startswith("$ORIGIN") for path in paths for part in path.split(":")), (file, paths))
                checked += 1
        self.assertGreater(checked, 10)
        needed = subprocess.run(["ldd", tree / "_native/bin/optima-host"], capture_output=True, text=True, check=True, env=self.environment).stdout
        for library in ("libboost_program_options", "libyaml-cpp"):
            self.assertIn(str(tree), next(line for line in needed.splitlines() if library in line))

    def test_what_it_carries_comes_with_its_licence(self):
        names = zipfile.ZipFile(self.wheel).namelist()
        for name in ("optima/py.typed", "optima/serve/__main__.py", "optima/scale/many.py", "optima/_runtime.pyi", "optima/_native/share/doc/optima/LICENSE", "optima/_native/share/doc/optima/THIRD_PARTY.md",
                     "optima/_native/share/doc/optima/licences/llvm-19-dev.txt"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if "__pycache__" in name or "openvino" in name])
        headers = [name for name in names if name.endswith((".h", ".hpp")) and not name.startswith("optima/torch2hpvm/cpp/")]
        self.assertEqual(sorted(headers), ["optima/_native/include/optima/runtime.h", "optima/_native/include/optima/runtime.hpp"])  # for programs of its users

    def test_the_stub_says_what_the_module_has(self):
        text = zipfile.ZipFile(self.wheel).read("optima/_runtime.pyi").decode()
        names = self.ran(self.python, "-c", "import optima._runtime as r; print(*[n for n in dir(r) if not n.startswith('_')])").split()
        self.assertGreater(len(names), 10)
        self.assertEqual([n for n in names if f"class {n}" not in text and n not in text], [])


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


class Script(unittest.TestCase):
    def test_bad_words(self):
        for words, sentence in ((["--frob"], "unknown argument '--frob'"), (["--build"], "--build wants a build folder"),
                                (["--build", "/nowhere"], "'/nowhere' is no build folder")):
            ran = subprocess.run([ROOT / "scripts/wheel", *words], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 1)
            self.assertIn(f"wheel: error: {sentence}", ran.stderr)


if __name__ == "__main__":
    unittest.main()
