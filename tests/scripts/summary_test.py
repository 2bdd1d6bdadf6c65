# SPDX-License-Identifier: Apache-2.0
"""scripts/test_summary.py on logs as ctest writes them. Argument: a doctest program of three cases, two of which skip."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SUMMARY = pathlib.Path(__file__).parents[2] / "scripts/test_summary.py"
PROGRAM = sys.argv.pop()


def block(name, command, output, verdict="Test Passed."):
    return (f"\n1/1 Testing: {name}\n1/1 Test: {name}\nCommand: {command}\nDirectory: /\n\"{name}\" start time: now\nOutput:\n"
            + "-" * 58 + f"\n{output}\n<end of output>\nTest time =   0.00 sec\n" + "-" * 58 + f"\n{verdict}\n\"{name}\" end time: now\n")


class Summary(unittest.TestCase):
    def sum_up(self, log, expected=None):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "a.log").write_text(log)
            words = [sys.executable, str(SUMMARY)]
            if expected is not None:
                (folder / "expected.txt").write_text(expected)
                words += ["--expected", str(folder / "expected.txt")]
            ran = subprocess.run(words + [str(folder / "a.log")], capture_output=True, text=True, check=False)
            return ran.returncode, ran.stdout

    def test_a_skipped_test_is_told_once_and_not_passed(self):
        log = block("whole", '"cmake" "-E" "echo" "SKIP: no Python"', "SKIP: no Python") + block("good", "true", "fine")
        self.assertEqual(self.sum_up(log), (0, "skipped in whole: no Python\n1 passed, 0 failed, 1 skipped\n"))

    def test_cases_that_skip_are_not_counted_as_passed(self):
        output = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout
        code, said = self.sum_up(block("example", PROGRAM, output))
        self.assertEqual(code, 0)
        self.assertEqual(said, "skipped in example: no tool, which this wants\nskipped in example: no first half\n1 passed, 0 failed, 2 skipped\n")

    def test_an_unexpected_skip_fails_and_an_expected_one_does_not(self):
        log = block("a", "x", "SKIP: this CPU has no avx2") + block("good", "true", "fine")
        self.assertEqual(self.sum_up(log, ": this CPU has no avx2$  # old machines\n")[0], 0)
        code, said = self.sum_up(log, "# nothing\n")
        self.assertEqual(code, 1)
        self.assertIn("skipped in a: this CPU has no avx2 (unexpected)\n1 unexpected skips", said)

    def test_failures_and_deaths_count_and_nothing_run_is_a_failure(self):
        dead = "[doctest] test cases: 3 | 2 passed | 0 failed | 0 skipped"
        self.assertEqual(self.sum_up(block("a", "x", dead, "Test Failed.")), (1, "2 passed, 1 failed, 0 skipped\n"))
        self.assertEqual(self.sum_up(block("a", "x", "boom", "Test Failed.")), (1, "0 passed, 1 failed, 0 skipped\n"))
        self.assertEqual(self.sum_up(""), (1, "0 passed, 0 failed, 0 skipped\n"))


if __name__ == "__main__":
    unittest.main()
