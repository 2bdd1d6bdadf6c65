# SPDX-License-Identifier: Apache-2.0
"""Shapes that a file declares and that do not hold: ONNX Runtime warns and runs."""
from support import *

X = [value("x", F, ["n", 4])]


def numbers(*values):
    return np.array(values, np.int64)


class Claims(Case):
    def test_sizes_of_the_run_that_was_traced(self):
        self.agree("NonZero", model([node("NonZero", ["x"], ["y"])], X, [value("y", I, [2, 7])]), {"x": floats(3, 4)}, {"x": np.zeros((2, 4), np.float32)})
        self.agree("Compress", model([node("Compress", ["x", "m"], ["y"], axis=0)], X + [value("m", B, ["q"])], [value("y", F, [1, 4])]),
                   {"x": floats(3, 4), "m": np.array([True, False, True])})
        self.agree("Tile", model([node("Tile", ["x", "s"], ["y"])], X + [value("s", I, [2])], [value("y", F, [6, 4])]), {"x": floats(3, 4), "s": numbers(1, 2)})
        self.agree("Range", model([node("Range", ["a", "b", "d"], ["y"])], [value(v, I, []) for v in "abd"], [value("y", I, [4])]),
                   {"a": np.array(0), "b": np.array(9), "d": np.array(2)})
        self.agree("TopK", model([node("TopK", ["x", "k"], ["y", "i"], axis=1)], X + [value("k", I, [1])], [value("y", F, ["n", 2]), value("i", I, ["n", 2])]),
                   {"x": floats(3, 4), "k": numbers(3)}, {"x": floats(3, 4), "k": numbers(1)})
        self.agree("Pad", model([node("Pad", ["x", "p"], ["y"])], X + [value("p", I, [4])], [value("y", F, ["n", 4])]), {"x": floats(3, 4), "p": numbers(1, 1, 0, 3)})
        self.agree("Expand", model([node("Expand", ["x", "s"], ["y"])], X + [value("s", I, [3])], [value("y", F, [1, "n", 4])]), {"x": floats(3, 4), "s": numbers(2, 3, 4)})

    def test_boxes_of_a_detector(self):
        nodes = [node("NonMaxSuppression", ["b", "s", "most", "iou", "score"], ["sel"]), node("Gather", ["sel", "two"], ["column"], axis=1), node("Squeeze", ["column", "one"], ["index"]),
                 node("Squeeze", ["b", "zero"], ["boxes"]), node("Gather", ["boxes", "index"], ["y"], axis=0)]
        made = model(nodes, [value("b", F, [1, "k", 4]), value("s", F, [1, "c", "k"])], [value("y", F, [5, 4])],
                     [constant("most", [10]), constant("iou", [0.5], np.float32), constant("score", [0], np.float32), constant("two", [2]), constant("one", [1]), constant("zero", [0])])
        self.agree("some, and none", made, {"b": np.abs(floats(1, 20, 4)), "s": np.abs(floats(1, 2, 20))}, {"b": np.abs(floats(1, 3, 4)), "s": -np.abs(floats(1, 2, 3))})

    def test_ranks(self):
        reshape = [node("Reshape", ["x", "s"], ["h"]), node("Neg", ["h"], ["y"])]
        self.agree("by an input", model(reshape, X + [value("s", I, ["r"])], [value("y", F, [1, "seq"])]), {"x": floats(3, 4), "s": numbers(12, 1, 1)}, {"x": floats(3, 4), "s": numbers(1, 12)})
        for opset in (11, 13):
            softmax = [node("Reshape", ["x", "s"], ["h"]), node("Softmax", ["h"], ["y"])]
            self.agree(f"Softmax of opset {opset}", model(softmax, X + [value("s", I, ["r"])], [value("y", F, ["a", "b"]), value("h", F, ["a", "b"])], opset=opset),
                       {"x": floats(3, 4), "s": numbers(2, 2, 3)}, {"x": floats(3, 4), "s": numbers(1, 12)})
        open_rank = model([node("Relu", ["x"], ["h"]), node("Neg", ["h"], ["y"])], [value("x", F, None)], [value("y", F, ["n", 4])])
        self.agree("of an input", open_rank, {"x": floats(2, 4)}, {"x": floats(3, 2, 2)})

    def test_one_warning_names_what_was_declared_and_found(self):
        made = model([node("Relu", ["x"], ["h"]), node("Neg", ["h"], ["y"])], X, [value("y", F, [9, 5, 1])])
        said = self.agree("an output", made, {"x": floats(2, 4)}).said
        self.assertEqual(said.count("value 'y' is declared [9,5,1], but is [n,4]"), 1, said)
        computed = model([node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]), node("Concat", ["n", "twos"], ["t"], axis=0), node("Reshape", ["x", "t"], ["y"])], X,
                         [value("y", F, ["n", 4, 1])], [constant("zero", [0]), constant("twos", [2, 2])])
        said = self.agree("arithmetic on shapes", computed, {"x": floats(3, 4)}).said
        self.assertEqual(said.count("value 'y' is declared [n,4,1], but is [n,2,2]"), 1, said)

    def test_declared_types_are_errors(self):
        self.refused(model([node("Relu", ["x"], ["y"])], X, [value("y", I, ["n", 4])]), "Inferred elem type differs from existing elem type: (FLOAT) vs (INT64)")

    def test_sizes_without_names_are_told_apart_and_settled_by_place(self):
        made = model([node("Relu", ["x"], ["y"])], [value("x", F, ["?", 3, "?", "unk__7"])], [value("y", F, ["?", 3, "?", "?"])])
        self.agree("open", made, {"x": floats(1, 3, 4, 5)}, {"x": floats(2, 3, 7, 6)})
        package = Package(made, "--dim", "x.3=5", "--dim", "x.0=1")
        self.assertEqual(package.code, 0, package.said)
        self.assertIsInstance(package.run({"x": floats(1, 3, 9, 5)}), dict)
        self.assertIn("input 'x'", package.run({"x": floats(1, 3, 9, 6)}))
        self.assertIn("no input has a dim 'x.1', the model has x.0, x.2, x.3", Package(made, "--dim", "x.1=3").said)

    def test_shape_where_outputs_were_declared_of_another(self):
        made = model([node("Relu", ["x"], ["y"])], [value("x", F, [1, 3, 8])], [value("y", F, [1, 3, 8])])
        package = Package(made, "--shape", "x=2,3,5")
        self.assertEqual(package.run({"x": floats(2, 3, 5)})["y"].shape, (2, 3, 5))


if __name__ == "__main__":
    main()
