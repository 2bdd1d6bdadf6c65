# SPDX-License-Identifier: Apache-2.0
"""Ifs: of known conditions, of branches of another rank, of branches that do not fit."""
from support import *

X = [value("x", F, ["b", "s", "k"])]
CONSTANTS = [constant("zero", 0), constant("one", 1), constant("two", 2), constant("three", 3), constant("at_zero", [0]), constant("at_one", [1])]


def branch(condition, outputs, then, otherwise):
    return node("If", [condition], outputs, then_branch=then, else_branch=otherwise)


class Branches(Case):
    def test_a_rank_decides(self):
        ask = [node("Shape", ["x"], ["s"]), node("Size", ["s"], ["r"]), node("Equal", ["r", "two"], ["c"])]
        lift = branch("c", ["u"], graph([node("Unsqueeze", ["x", "at_zero"], ["t"])], [value("t")]), graph([node("Identity", ["x"], ["e"])], [value("e")]))
        mean = node("ReduceMean", ["u"], ["y"], axes=[-1], keepdims=0)
        for shape, x in ((["b", "s"], floats(2, 3)), (["b", "s", "k"], floats(2, 3, 4))):
            package = self.agree(f"rank {len(shape)}", model(ask + [lift, mean], [value("x", F, shape)], [value("y")], CONSTANTS, opset=15), {"x": x})
            self.assertNotIn("If", package.operators())
        self.agree("open", model(ask + [lift, mean], [value("x", F, None)], [value("y")], CONSTANTS, opset=15), {"x": floats(2, 3)}, {"x": floats(2, 3, 4)})

    def test_a_known_size_beside_open_ones_decides(self):
        """The branch that is not taken does not fit; ONNX Runtime refuses such a file where it sees it, so the answer is NumPy's."""
        middle = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "one"], ["m"])]
        for what, ask in {"Equal": [node("Equal", ["m", "one"], ["c"])],
                          "And": [node("Equal", ["m", "one"], ["p"]), node("Gather", ["s", "zero"], ["f"]), node("Equal", ["f", "one"], ["q"]), node("And", ["q", "p"], ["c"])],
                          "Cast": [node("Cast", ["m"], ["p"], to=F), node("Cast", ["one"], ["q"], to=F), node("Greater", ["p", "q"], ["r"]), node("Not", ["r"], ["c"])]}.items():
            for shape in (["b", 3, "k"], [2, 3, 4]):
                squeeze = graph([node("Squeeze", ["x", "at_one"], ["t"]), node("Unsqueeze", ["t", "at_one"], ["t2"])], [value("t2")])
                most = graph([node("ReduceMax", ["x"], ["e"], axes=[1], keepdims=1)], [value("e")])
                package = Package(model(middle + ask + [branch("c", ["u"], squeeze, most), node("Neg", ["u"], ["y"])], [value("x", F, shape)], [value("y")], CONSTANTS, opset=15))
                self.assertEqual(package.code, 0, package.said)
                self.assertEqual(package.operators(), ["ReduceMax", "Neg"], what)
                np.testing.assert_array_equal(package.run({"x": floats(2, 3, 4)})["y"], -floats(2, 3, 4).max(1, keepdims=True))

    def test_branches_of_other_ranks(self):
        nodes = [branch("c", ["u"], graph([node("ReduceMax", ["x"], ["t"], axes=[1], keepdims=0)], [value("t")]), graph([node("Identity", ["x"], ["e"])], [value("e")])), node("Relu", ["u"], ["y"])]
        for shape in ([], [1]):
            self.agree(f"a condition of shape {shape}", model(nodes, [value("c", B, shape)] + X, [value("y")], opset=15),
                       *[{"c": np.full(shape, taken), "x": floats(2, 3, 4)} for taken in (True, False)])
        stale = [branch("c", ["u"], graph([node("Neg", ["x"], ["t"])], [value("t", F, [7, 7])]), graph([node("Identity", ["x"], ["e"])], [value("e", F, [9])])), node("Relu", ["u"], ["y"])]
        self.agree("declared of others", model(stale, [value("c", B, [])] + X, [value("y", F, [1])], opset=15), *[{"c": np.array(taken), "x": floats(2, 3, 4)} for taken in (True, False)])

    def test_a_branch_that_does_not_fit_fails_when_it_is_taken(self):
        nodes = [branch("c", ["u"], graph([node("Squeeze", ["x", "at_one"], ["t"])], [value("t")]), graph([node("Identity", ["x"], ["e"])], [value("e")])), node("Relu", ["u"], ["y"])]
        package = Package(model(nodes, [value("c", B, []), value("x", F, [2, 3, 4])], [value("y")], CONSTANTS, opset=15))
        self.assertEqual(package.code, 0, package.said)
        np.testing.assert_array_equal(package.run({"c": np.array(False), "x": floats(2, 3, 4)})["y"], np.maximum(floats(2, 3, 4), 0))
        self.assertIn("Squeeze node 'if_1/then_branch/squeeze_1': dim 1 is 3, must be 1 to be squeezed", package.run({"c": np.array(True), "x": floats(2, 3, 4)}))

    def test_an_operator_that_nobody_has_in_a_branch_never_taken(self):
        whatever = graph([node("Whatever", ["x"], ["t"], domain="foo")], [value("t")])
        nodes = [node("Identity", ["no"], ["c"]), branch("c", ["u"], whatever, graph([node("Identity", ["x"], ["e"])], [value("e")])), node("Relu", ["u"], ["y"])]
        package = Package(model(nodes, X, [value("y")], [constant("no", False, bool)], imports=[helper.make_opsetid("", 15), helper.make_opsetid("foo", 1)]))
        self.assertEqual(package.code, 0, package.said)
        np.testing.assert_array_equal(package.run({"x": floats(2, 3, 4)})["y"], np.maximum(floats(2, 3, 4), 0))

    def test_names_in_bodies(self):
        inputs = [value("x", F, ["n", 4]), value("c", B, [])]
        both = [{"x": floats(2, 4), "c": np.array(taken)} for taken in (True, False)]
        same = branch("c", ["y"], graph([node("Neg", ["x"], ["t"]), node("Exp", ["t"], ["r"])], [value("r")], name="a"),
                      graph([node("Abs", ["x"], ["t"]), node("Sqrt", ["t"], ["r"])], [value("r")], name="a"))
        self.agree("the same in both branches", model([same], inputs, [value("y")]), *both)
        self.agree("that of the output", model([branch("c", ["y"], graph([node("Neg", ["x"], ["y"])], [value("y")]), graph([node("Abs", ["x"], ["y"])], [value("y")]))], inputs, [value("y")]), *both)

    def test_loops(self):
        body = graph([node("Identity", ["ci"], ["co"]), node("Concat", ["s", "x"], ["so"], axis=0)], [value("co", B, []), value("so", F, ["n", 4])],
                     [value("i", I, []), value("ci", B, []), value("s", F, ["n", 4])])
        self.agree("what it carries grows, declared or not", model([node("Loop", ["m", "", "x"], ["y"], body=body)], [value("x", F, ["n", 4]), value("m", I, [])], [value("y", F, ["n", 4])]),
                   *[{"x": floats(2, 4), "m": np.array(trips)} for trips in (0, 1, 5)])


if __name__ == "__main__":
    main()
