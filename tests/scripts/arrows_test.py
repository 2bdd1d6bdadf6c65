# SPDX-License-Identifier: Apache-2.0
"""Who may include whom (docs/architecture.md): host -> core -> sdk <- plugins, core -> reference -> sdk <- plugins/{reference,llvm_cpu}, python -> core/runtime. Core's rooms have no
cycle, and a library of others is included where that page says and nowhere else. Argument: the project's folder, or one made to break a rule."""
import collections
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop())
TOPS = ("core", "host", "plugins", "python", "reference", "sdk")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
SYSTEM = ("sys", "asm", "linux", "bits", "netinet", "arpa")

# By room: libraries of others. Plugins have their vendor's.
LIBRARIES = {
    "core/config": {"yaml-cpp"}, "core/loader": {"boost"}, "core/min_cut": {"boost"}, "core/onnx_io": {"onnx", "google"},
    "core/support": {"nlohmann"}, "core/tensor_io": {"stb"}, "host/optima_host": {"boost"}, "plugins/llvm_cpu": {"llvm"},
    "plugins/openvino": {"openvino", "nlohmann"}, "plugins/snpe": {"nlohmann"}, "plugins/bmcompiler": {"nlohmann"},
    "python/binding": {"nanobind"}, "plugins/spirv": {"nlohmann", "glslang", "spirv-tools"},
}
# Rooms that know no library, whatever they include: what everybody shares must build anywhere.
BARE = ("core/backend", "core/plan", "core/split")


def room_of(path):
    """'core/graph' of core/graph/graph.hpp, 'sdk' of sdk/include/...; None where the first part is no room of the project."""
    parts = path.split("/")
    if parts[0] == "optima":
        return "core/runtime" if path in ("optima/runtime.h", "optima/runtime.hpp") else "sdk"
    if parts[0] not in TOPS:
        return None
    return parts[0] if parts[0] in ("sdk", "reference") or len(parts) < 3 else "/".join(parts[:2])


def includes_of(root):
    """(file, its room, what it includes) of every source and header."""
    for top in TOPS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".h", ".c"):
                name = str(path.relative_to(root))
                for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
                    yield name, room_of(name), included


def may(room, other):
    """Whether a file of one room may include one of another."""
    top, to = room.split("/")[0], other.split("/")[0]
    if top == "host":
        return to in ("core", "sdk", "host")
    if top == "core":
        return to in ("core", "sdk", "reference")
    if top == "python":
        return other == "core/runtime"
    return to == "sdk" or (room in ("plugins/reference", "plugins/llvm_cpu") and to == "reference")


def misdeeds(root):
    """One line for each include that the rules forbid, and one for a cycle of core's rooms."""
    out, arrows = [], collections.defaultdict(set)
    for name, room, included in includes_of(root):
        other = room_of(included)
        if other == room:
            continue
        if other:
            arrows[room].add(other)
            if not may(room, other):
                out.append(f"{name} includes {included}: {room} must not know {other}")
        elif included.split("/")[0] == "tests":
            out.append(f"{name} includes {included}: nothing here knows its tests")
        elif room.startswith("plugins/") and ".." not in included and (root / room / included).is_file():
            continue  # a plugin's folder is on its own include path
        elif "/" in included and included.split("/")[0] not in SYSTEM and included.split("/")[0] not in LIBRARIES.get(room, ()):
            out.append(f"{name} includes {included}: {room} has no such library")
    cycle = cycle_of({room: {o for o in others if o.startswith("core/")} for room, others in arrows.items() if room.startswith("core/")})
    return out + ([f"rooms that know each other: {' -> '.join(cycle)}"] if cycle else [])


def cycle_of(arrows):
    """The rooms of one cycle, the first again at the end; None when there is none."""
    done = set()

    def walk(room, path):
        if room in path:
            return path[path.index(room):] + [room]
        if room in done:
            return None
        for other in sorted(arrows.get(room, ())):
            if found := walk(other, path + [room]):
                return found
        done.add(room)
        return None

    return next((found for room in sorted(arrows) if (found := walk(room, []))), None)


class Arrows(unittest.TestCase):
    def test_the_tree_keeps_its_arrows(self):
        self.assertEqual(misdeeds(ROOT), [])
        self.assertEqual([room for room in BARE if LIBRARIES.get(room) or not (ROOT / room).is_dir()], [])
        self.assertGreater(sum(1 for _ in includes_of(ROOT)), 2000)

    def check(self, files, *wanted):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            self.assertEqual(misdeeds(pathlib.Path(folder)), list(wanted))

    def test_what_is_forbidden_is_found(self):
        self.check({"core/graph/a.cpp": '#include "plugins/null/b.hpp"\n'}, "core/graph/a.cpp includes plugins/null/b.hpp: core/graph must not know plugins/null")
        self.check({"plugins/null/a.cpp": '#include "core/graph/graph.hpp"\n'},
                   "plugins/null/a.cpp includes core/graph/graph.hpp: plugins/null must not know core/graph")
        self.check({"plugins/null/a.cpp": '#include "plugins/openvino/b.hpp"\n'},
                   "plugins/null/a.cpp includes plugins/openvino/b.hpp: plugins/null must not know plugins/openvino")
        self.check({"python/binding/a.cpp": '#include "optima/runtime.hpp"\n#include "core/loader/registry.hpp"\n'},
                   "python/binding/a.cpp includes core/loader/registry.hpp: python/binding must not know core/loader")
        self.check({"sdk/include/optima/a.h": '#include "core/graph/graph.hpp"\n'},
                   "sdk/include/optima/a.h includes core/graph/graph.hpp: sdk must not know core/graph")
        self.check({"plugins/null/a.cpp": '#include "b/c.hpp"\n#include "b/d.hpp"\n', "plugins/null/b/c.hpp": ""},
                   "plugins/null/a.cpp includes b/d.hpp: plugins/null has no such library")
        self.check({"core/split/a.cpp": "#include <nlohmann/json.hpp>\n"}, "core/split/a.cpp includes nlohmann/json.hpp: core/split has no such library")
        self.check({"core/graph/a.cpp": '#include "tests/support/process.hpp"\n'}, "core/graph/a.cpp includes tests/support/process.hpp: nothing here knows its tests")
        self.check({"core/graph/a.cpp": '#include "core/split/b.hpp"\n', "core/split/b.cpp": '#include "core/graph/a.hpp"\n'},
                   "rooms that know each other: core/graph -> core/split -> core/graph")

    def test_what_is_allowed_passes(self):
        self.check({"core/graph/a.cpp": '#include <sys/stat.h>\n#include <vector>\n#include "core/graph/b.hpp"\n#include "optima/abi.h"\n',
                    "plugins/reference/a.cpp": '#include "reference/reference.hpp"\n#include "a.hpp"\n',
                    "host/optima_host/a.cpp": '#include "core/graph/a.hpp"\n#include "host/optima_host/b.hpp"\n'})


if __name__ == "__main__":
    unittest.main()
