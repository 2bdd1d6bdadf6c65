#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python of the documents runs: the blocks of a page one after another, as one program, in an empty folder with the examples beside it."""
import os
import pathlib
import re
import unittest

from support import FrontTest, ROOT

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Documents(FrontTest):
    def run_page(self, name, at_least):
        page = ROOT / "docs" / name
        blocks = [(page.read_text()[:found.start(1)].count("\n"), found[1]) for found in BLOCK.finditer(page.read_text())]
        self.assertGreaterEqual(len(blocks), at_least, f"{page} has fewer blocks than this test knows of")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        (self.folder / "examples").symlink_to(ROOT / "examples")
        names = {"__name__": "page"}
        for line, text in blocks:
            exec(compile("\n" * line + text, str(page), "exec"), names)  # errors tell the page's lines
        return {path.name for path in pathlib.Path(".").iterdir()}

    def test_compile_from_python(self):
        self.assertLessEqual({"digits.html", "saved", "out"}, self.run_page("compile-from-python.md", 5))

    def test_torch2nx(self):
        self.assertLessEqual({"sample.gpickle", "sample.json", "pictures", "sample_picture.svg"}, self.run_page("torch2nx.md", 3))

    def test_manager(self):
        self.assertIn("outputs", self.run_page("manager.md", 1))


if __name__ == "__main__":
    unittest.main()
