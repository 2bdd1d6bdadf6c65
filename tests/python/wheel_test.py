#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel in an environment that has nothing else: compiles and runs examples/digits, and finds all it needs in itself."""
import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import venv
import zipfile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support import BUILD, DIGITS, ROOT, PackageTest, unittest

RUN = """if True:
    import sys, numpy as np, optima
    from optima import _native
    assert "site-packages" in optima.__file__ and "site-packages" in _native.program(), _native.program()
    model = optima.runtime.Context().load_model(sys.argv[1])
    answer = model.run(image=np.load(sys.argv[2]))["probability"]
    np.save(sys.argv[3], answer)"""


# The same without numpy, as it is of another Python.
RUN_BYTES = """if True:
    import sys
    sys.path.insert(0, sys.argv[1])
    import optima
    request = optima.runtime.Context(plugins=sys.argv[1] + "/optima/_native/lib/optima/plugins").load_model(sys.argv[2]).create_request()
    request.get_input("image").get_buffer()[:] = open(sys.argv[3], "rb").read()
    assert request.start().wait(60)
    open(sys.argv[4], "wb").write(request.get_output("probability").get_buffer())"""


LIBRARIES = next((ROOT / ".deps/openvino/lib").glob("python3*/site-packages"), None)  # of the wheel openvino


def setUpModule():
    made = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(made.cleanup)
    InItsOwn.wheels = pathlib.Path(made.name)
    subprocess.run([ROOT / "scripts/wheel", "--no-build", "--build", BUILD, "-o", made.name], check=True, capture_output=True, text=True)


class InItsOwn(PackageTest):
    """Tests in an environment that has nothing but the wheels of `patterns`."""
    patterns = ("optima-*.whl",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        wheels = [next(cls.wheels.glob(pattern)) for pattern in cls.patterns]
        cls.wheel = wheels[-1]
        venv.create(cls.folder / "env", with_pip=True)
        cls.python = cls.folder / "env/bin/python"
        cls.site = next((cls.folder / "env/lib").glob("python3*")) / "site-packages"
        cls.environment = {"PATH": f"{cls.folder}/env/bin", "HOME": str(cls.folder), "TMPDIR": str(cls.folder)}
        subprocess.run([cls.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", *wheels], check=True)
        import numpy
        cls.borrow(pathlib.Path(numpy.__file__).parents[1], "numpy", "numpy.libs")

    @classmethod
    def borrow(cls, theirs, *names):
        """What pip would have fetched."""
        for name in names:
            if (theirs / name).exists():
                (cls.site / name).symlink_to(theirs / name)

    def rows(self):
        """What the doctor says, and whether all that is needed is here."""
        said = subprocess.run(["optima-doctor", "--json"], capture_output=True, text=True, cwd=self.folder, env=self.environment)
        report = json.loads(said.stdout)
        self.assertEqual(report["ok"], said.returncode == 0)
        return {row["name"]: row for row in report["rows"]}, report["ok"]

    def ran(self, *words):
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, cwd=self.folder, env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


class Wheel(InItsOwn):
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

    def test_kernels_are_made_without_any_other_program(self):
        import numpy as np
        np.save(self.folder / "picture.npy", np.random.default_rng(4).random((1, 1, 32, 32), np.float32))
        for device in ("X64", "ARM64"):
            self.ran("optima-host", "compile", DIGITS / "digits.onnx", "-o", device, "--device", f"{device}:0")
            self.assertTrue(list((self.folder / device / "digits").glob("Subgraph_*/*.so")))
        self.assertIn("ok  probability", self.ran("optima-host", "compare", DIGITS / "digits.onnx", "X64/digits", "--input", "image=picture.npy"))

    def test_the_doctor_finds_all_that_is_needed(self):
        rows, ok = self.rows()
        self.assertTrue(ok)
        for name in ("plugin llvm_cpu", "plugin reference", "plugin spirv", "plugin snpe", "plugin bmcompiler"):
            self.assertTrue(rows[name]["ok"], name)
        self.assertIn("site-packages", rows["optima.runtime"]["found"])
        self.assertEqual((rows["plugin openvino"]["ok"], rows["plugin openvino"]["needed"]), (False, False))
        self.assertIn("optima_openvino-0.1.0-*.whl", rows["plugin openvino"]["fix"])

    def test_nothing_is_looked_for_where_it_was_built(self):
        tree, checked = self.site / "optima", 0
        for file in tree.rglob("*"):
            if file.is_file() and is_elf(file):
                said = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
                paths = [line.split("[")[1].rstrip("]") for line in said.splitlines() if "RUNPATH" in line or "RPATH" in line]
                self.assertTrue(all(part.startswith("$ORIGIN") for path in paths for part in path.split(":")), (file, paths))
                checked += 1
        self.assertGreater(checked, 10)
        needed = subprocess.run([shutil.which("ldd"), tree / "_native/bin/optima-host"], capture_output=True, text=True, check=True, env=self.environment).stdout
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


class WithOpenvino(InItsOwn):
    """The two wheels side by side."""
    patterns = ("optima-*.whl", "optima_openvino-*.whl")

    @classmethod
    def setUpClass(cls):
        if not LIBRARIES or not (BUILD / "lib/optima/plugins/optima_openvino.so").exists():
            print("SKIP: no plugin openvino; scripts/setup --with openvino installs what it is built with", flush=True)
            raise unittest.SkipTest("no plugin openvino")
        super().setUpClass()

    def setUp(self):
        self.borrow(LIBRARIES, "openvino", *[path.name for path in LIBRARIES.glob("openvino-*.dist-info")])
        self.addCleanup((self.site / "openvino").unlink, missing_ok=True)
        self.addCleanup(lambda: [path.unlink() for path in self.site.glob("openvino-*.dist-info")])

    def test_digits_are_split_over_both_processors_backends(self):
        import numpy as np
        picture = np.random.default_rng(3).random((1, 1, 32, 32), np.float32)
        np.save(self.folder / "image.npy", picture)
        self.ran("optima-host", "compile", DIGITS / "digits.onnx", "-o", "out", "--alloc", DIGITS / "alloc.json", "--force")
        plan = json.loads(self.ran("optima-host", "explain", "out/digits", "--json"))
        self.assertEqual({part["device"] for part in plan["subgraphs"]}, {"llvm_cpu/X64:0", "openvino/X64:0"})
        self.ran(self.python, "-c", RUN, "out/digits", "image.npy", "by_python.npy")
        self.ran("optima-run", "out/digits", "--input", "image=image.npy", "-o", "by_program")
        by_python, by_program = np.load(self.folder / "by_python.npy"), np.load(self.folder / "by_program/probability.npy")
        self.assertEqual(by_python.tobytes(), by_program.tobytes())
        self.assertIn("ok  probability", self.ran("optima-host", "compare", DIGITS / "digits.onnx", "out/digits", "--input", "image=image.npy"))

    def test_the_doctor_finds_it_and_misses_its_libraries(self):
        rows, ok = self.rows()
        self.assertTrue(ok and rows["plugin openvino"]["ok"], rows["plugin openvino"])
        (self.site / "openvino").unlink()
        for home in (self.folder, self.folder / "new"):  # where the plugin was seen to load before, and where it was not
            self.environment["HOME"] = str(home)
            rows, ok = self.rows()
            self.assertFalse(ok)
            self.misses(rows)
        self.environment["HOME"] = str(self.folder)

    def misses(self, rows):
        self.assertRegex(rows["plugin openvino"]["found"], r"needs the library 'libopenvino\.so\.\d+', which is not found on this machine; it may lie in '.*/site-packages/openvino/libs'")
        self.assertRegex(rows["plugin openvino"]["fix"], r" -m pip install openvino==[\d.]+, or repair or remove ")

    def test_it_asks_for_what_it_was_built_with_and_adds_to_the_other_alone(self):
        names, others = zipfile.ZipFile(self.wheel).namelist(), zipfile.ZipFile(next(self.wheels.glob("optima-*.whl"))).namelist()
        self.assertEqual(set(names) & set(others), set())
        self.assertEqual([name for name in names if name.endswith(".so")], ["optima/_native/lib/optima/plugins/optima_openvino.so"])
        (version,) = [path.name.removeprefix("openvino-").removesuffix(".dist-info") for path in LIBRARIES.glob("openvino-*.dist-info")]
        wanted = [line for line in zipfile.ZipFile(self.wheel).read("optima_openvino-0.1.0.dist-info/METADATA").decode().splitlines() if line.startswith("Requires-Dist")]
        self.assertEqual(wanted, ["Requires-Dist: optima==0.1.0", f"Requires-Dist: openvino=={version}"])
        said = subprocess.run(["readelf", "-d", self.site / "optima/_native/lib/optima/plugins/optima_openvino.so"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(said, r"R(UN)?PATH\)\s.*\[\$ORIGIN/../../../../../openvino/libs\]")


COMPAT = ROOT / "python-compat/src"


class Compat(InItsOwn):
    """The wheels optima and optima-compat with what pip would fetch for them, and nothing more."""
    patterns = ("optima-*.whl", "optima_compat-*.whl")

    @staticmethod
    def requirements(wheel, extras=()):
        """Names of the projects that a wheel, or an installed project, requires with these extras."""
        found = set()
        for line in wheel:
            need = Requirement(line)
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                found.add((canonicalize_name(need.name), tuple(sorted(need.extras))))
        return found

    def requires(self, wheel):
        (name,) = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".dist-info/METADATA")]
        text = zipfile.ZipFile(wheel).read(name).decode()
        return [line.partition(": ")[2] for line in text.splitlines() if line.startswith("Requires-Dist: ")]

    def fetched(self):
        """What installing the wheel brings: distributions of the Python of the tests."""
        optima = self.requires(next(self.wheels.glob("optima-*.whl")))
        ((name, extras),) = self.requirements(self.requires(self.wheel))
        self.assertEqual(name, "optima")
        todo, seen = self.requirements(optima, extras), set()
        while todo:
            name, extras = todo.pop()
            if name not in seen:
                seen.add(name)
                todo |= self.requirements(importlib.metadata.distribution(name).requires or (), extras)
        return [importlib.metadata.distribution(name) for name in seen]

    def test_every_module_imports_with_what_pip_fetches_for_it(self):
        for distribution in self.fetched():
            tops = {file.parts[0] for file in distribution.files if not file.parts[0].startswith("..") and file.parts[0] != "__pycache__"}
            self.borrow(pathlib.Path(distribution.locate_file("")), *[top for top in tops if not (self.site / top).exists()])
        names = [str(path.relative_to(COMPAT).with_suffix("")).replace("/", ".").removesuffix(".__init__") for path in sorted(COMPAT.rglob("*.py"))]
        self.assertIn("sophon.auto_split.api", names)
        for module in names:
            self.ran(self.python, "-c", f"import sys, {module}; assert 'site-packages' in sys.modules['{module}'].__file__")

    def test_it_holds_exactly_the_modules_of_its_sources(self):
        inside = {name for name in zipfile.ZipFile(self.wheel).namelist() if ".dist-info/" not in name}
        self.assertEqual(inside, {str(path.relative_to(COMPAT)) for path in COMPAT.rglob("*.py")})
        self.assertIn("-py3-none-any.whl", self.wheel.name)
        self.assertEqual(self.requires(self.wheel), ["optima[compile,submodels,torch2nx]==0.1.0"])


def other_pythons():
    """Those on PATH or of pyenv whose binding stands on the stable interface, by their version."""
    found = {}
    versions = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    for name in ("python3.12", "python3.13", "python3.14", "python3.15", "python3", *map(str, sorted(versions.glob("3.*/bin/python3")))):
        said = subprocess.run([name, "-c", "import sys; print(*sys.version_info[:2], sys.executable)"], capture_output=True, text=True) if shutil.which(name) else None
        if said and said.returncode == 0:
            major, minor, path = said.stdout.rstrip("\n").split(" ", 2)
            if (int(major), int(minor)) >= (3, 12):
                found[int(minor)] = path
    return found


class OtherPythons(PackageTest):
    def test_one_wheel_serves_every_python_from_3_12_on(self):
        import numpy as np
        pythons = other_pythons()
        if not pythons:
            print("SKIP: no Python of 3.12 and up is on PATH or of pyenv", flush=True)
            self.skipTest("no other Python")
        made = subprocess.run([ROOT / "scripts/wheel", "--no-build", "--build", BUILD, "-o", self.folder, "--python", pythons[min(pythons)]], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        (wheel,) = self.folder.glob("optima-0.1.0-cp312-abi3-*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        self.assertEqual([name for name in names if name.startswith("optima/_runtime.")], ["optima/_runtime.abi3.so", "optima/_runtime.pyi"])
        site = self.folder / "site"
        zipfile.ZipFile(wheel).extractall(site)
        package = self.package(DIGITS / "digits.onnx", "--device", "X64:0", name="digits")
        picture = np.random.default_rng(3).random((1, 1, 32, 32), np.float32)
        (self.folder / "image").write_bytes(picture.tobytes())
        import optima
        wanted = optima.runtime.Context().load_model(package).run(image=picture)["probability"]
        for minor, python in pythons.items():
            with self.subTest(minor):
                ran = subprocess.run([python, "-I", "-B", "-c", RUN_BYTES, site, package, self.folder / "image", self.folder / "answer"], capture_output=True, text=True)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertEqual((self.folder / "answer").read_bytes(), wanted.tobytes())


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


class Script(unittest.TestCase):
    def test_bad_words(self):
        for words, sentence in ((["--frob"], "unknown argument '--frob'"), (["--build"], "--build wants a build folder"), (["--python"], "--python wants a Python"), (["--python", "/nowhere"], "'/nowhere' is no Python of 3.11 and up"),
                                (["--build", "/nowhere"], "'/nowhere' is no build folder")):
            ran = subprocess.run([ROOT / "scripts/wheel", *words], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 1)
            self.assertIn(f"wheel: error: {sentence}", ran.stderr)
            self.assertEqual(ran.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
