# SPDX-License-Identifier: Apache-2.0
"""Every header of sdk/include/optima/ext/ is in use: core names its extension, a test plugin has or asks for it, each of its functions is called
or its comment says that it is not, and docs/write-a-plugin.md says who calls it and when. What is not is marked as outside the freeze.
Argument: the project's folder."""
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop())
HEADERS = "sdk/include/optima/ext"
MARK = "EXPERIMENTAL: outside the freeze"
NOT_CALLED = "not called by this host"
ID = re.compile(r'#define (OPTIMA_EXT_\w+) "(optima\.\w+/\d+)"')
TABLE = re.compile(r"typedef struct (\w+) \{(.*?)^\} \1;", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
FUNCTION = re.compile(r"^  (?:int32_t|void) \(\*(\w+)\)\(", re.MULTILINE)
PLUGIN = re.compile(r"\boptima_plugin_query\(|\bOPTIMA_PLUGIN\(")


def sources(root, folder):
    """(path, text) of each source and header below a folder."""
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in (".cpp", ".hpp", ".h", ".c"):
            yield path.relative_to(root), path.read_text(encoding="utf-8")


def functions_of(text):
    """(name, comment) of each function of the header's tables; the comment is the last one between it and the function before."""
    for _, body in TABLE.findall(text):
        end = 0
        for found in FUNCTION.finditer(body):
            comments = COMMENT.findall(body[end:found.start()])
            yield found[1], " ".join(comments[-1].replace("\n   *", " ").split()) if comments else ""
            end = found.end()


def misdeeds(root):
    """One line for each extension or function of which something is missing."""
    out = []
    core = [text for _, text in sources(root, "core")]
    plugins = [text for _, text in sources(root, "tests") if PLUGIN.search(text)]
    guide = (root / "docs/write-a-plugin.md").read_text(encoding="utf-8").splitlines()
    for path, text in sources(root, HEADERS):
        names = ID.findall(text)
        if len(names) != 1:
            out.append(f"{path} names {len(names)} extensions, wanted one")
            continue
        macro, name = names[0]
        if MARK in text:
            continue
        if not any(macro in t for t in core):
            out.append(f"{path}: core does not name {macro}")
            continue
        if not any(macro in t for t in plugins):
            out.append(f"{path}: no test plugin names {macro}")
        for function, comment in functions_of(text):
            is_called = any(re.search(rf"(?:\w\(\)|\w_)\.{function}\(", t) for t in core) or any(re.search(rf"fences(?:\.|->){function}\(", t) for t in plugins)
            if is_called == (NOT_CALLED in comment.lower()):
                out.append(f"{path}: {function} is {'called, and its comment denies it' if is_called else 'not called, and its comment does not say so'}")
            if not any(f"`{name}`" in line and f"`{function}`" in line for line in guide):
                out.append(f"docs/write-a-plugin.md: no row for {function} of {name}")
    return out


class Extensions(unittest.TestCase):
    def test_every_extension_is_in_use_or_marked(self):
        self.assertEqual(misdeeds(ROOT), [])
        found = {path.name: [f for f, _ in functions_of(text)] for path, text in sources(ROOT, HEADERS)}
        self.assertEqual(found["memory.h"], ["requirements", "alloc", "free", "import", "copy"])
        self.assertEqual(found["fence.h"], ["signal", "poison", "wait", "notify", "export_fd", "retain", "release"])

    def changed(self, *changes):
        """What is said of the tree after each (path, old, new); sources that have nothing to do with it left out."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for part in (HEADERS, "core/loader", "core/runtime", "tests/unit/loader/plugins", "docs"):
                shutil.copytree(ROOT / part, root / part)
            before = misdeeds(root)
            for path, old, new in changes:
                text = (root / path).read_text(encoding="utf-8")
                self.assertIn(old, text)
                (root / path).write_text(text.replace(old, new), encoding="utf-8")
            return [line for line in misdeeds(root) if line not in before]

    def test_what_is_not_in_use_is_found(self):
        cost, trial, memory = f"{HEADERS}/cost.h", "tests/unit/loader/plugins/trial.cpp", f"{HEADERS}/memory.h"
        new_id = (cost, "OPTIMA_EXT_COST ", "OPTIMA_EXT_PRICE ")
        self.assertEqual(self.changed(new_id), [f"{cost}: core does not name OPTIMA_EXT_PRICE"])
        self.assertEqual(self.changed(new_id, (cost, "An extension;", f"{MARK}. An extension;")), [])
        self.assertEqual(self.changed((trial, "OPTIMA_EXT_COST", "OPTIMA_EXT_NONE")), [f"{cost}: no test plugin names OPTIMA_EXT_COST"])
        self.assertEqual(self.changed((memory, "Not called by this", "Called by this")),
                         [f"{memory}: requirements is not called, and its comment does not say so"])
        self.assertEqual(self.changed((cost, "(*estimate)", "(*guess)")),
                         [f"{cost}: guess is not called, and its comment does not say so", "docs/write-a-plugin.md: no row for guess of optima.cost/1"])


if __name__ == "__main__":
    unittest.main()
