# SPDX-License-Identifier: Apache-2.0
"""Versions, names, weights and words of files."""
from support import *

X, Y = [value("x", F, ["n", 4])], [value("y", F, ["n", 4])]


def relu(**more):
    return model([node("Relu", ["x"], ["y"])], X, Y, **more)


class Files(Case):
    def test_opsets(self):
        for opset in range(7, 26):
            made = model([node("Conv", ["x", "w", "b"], ["a"], pads=[1, 1, 1, 1]), node("Relu", ["a"], ["r"]), node("GlobalAveragePool", ["r"], ["p"]),
                          node("Flatten", ["p"], ["f"]), node("Gemm", ["f", "v", "c"], ["g"], transB=1), node("Softmax", ["g"], ["y"], axis=1)],
                         [value("x", F, ["n", 3, "h", "w_"])], [value("y", F, ["n", 5])],
                         [constant("w", floats(4, 3, 3, 3), np.float32), constant("b", floats(4), np.float32), constant("v", floats(5, 4), np.float32),
                          constant("c", floats(5), np.float32)], opset=opset, ir=4 if opset < 9 else 8 if opset < 21 else 10)
            self.agree(f"opset {opset}", made, {"x": floats(2, 3, 8, 8)}, {"x": floats(1, 3, 5, 9)})

    def test_ir_versions(self):
        for ir in range(3, 14):
            inputs = X + ([value("w", F, [4, 3])] if ir < 4 else [])
            self.agree(f"IR {ir}", model([node("MatMul", ["x", "w"], ["y"])], inputs, [value("y", F, ["n", 3])], [constant("w", floats(4, 3), np.float32)], opset=9, ir=ir),
                       {"x": floats(2, 4)})

    def test_a_newer_ir_version_is_a_warning(self):
        package = Package(relu(ir=20))
        self.assertEqual(package.code, 0, package.said)
        self.assertIn("ONNX IR version 20 is newer than 14", package.said)
        np.testing.assert_array_equal(package.run({"x": floats(2, 4)})["y"], np.maximum(floats(2, 4), 0))

    def test_initializers_among_inputs(self):
        weights = [constant("w", floats(4, 3), np.float32)]
        for what, inputs in {"behind": X + [value("w", F, [4, 3])], "before": [value("w", F, [4, 3])] + X, "open": [value("w", F, ["a", "b"])] + X}.items():
            self.agree(what, model([node("MatMul", ["x", "w"], ["y"])], inputs, [value("y", F, ["n", 3])], weights, opset=9), {"x": floats(2, 4)})

    def test_what_nobody_reads(self):
        self.agree("initializers", relu(constants=[constant("w", floats(4, 3), np.float32), constant("e", np.zeros((0, 3)), np.float32)]), {"x": floats(2, 4)})
        self.agree("nodes", model([node("Relu", ["x"], ["y"]), node("Exp", ["x"], ["z"])], X, Y), {"x": floats(2, 4)})
        self.agree("an input", model([node("Relu", ["x"], ["y"])], X + [value("z", F, [3])], Y), {"x": floats(2, 4), "z": floats(3)})

    def test_outputs_that_no_node_makes(self):
        weights = [constant("w", floats(4, 3), np.float32)]
        self.agree("a constant", model([node("Relu", ["x"], ["y"])], X, Y + [value("w", F, [4, 3])], weights), {"x": floats(2, 4)})
        self.agree("an input", model([node("Relu", ["x"], ["y"])], X, Y + X), {"x": floats(2, 4)})
        self.agree("no nodes", model([], X, X), {"x": floats(2, 4)})

    def test_names(self):
        self.agree("of values", model([node("Relu", ["x:0"], ["a/b"]), node("Neg", ["a/b"], ["out put"])], [value("x:0", F, ["n", 4])], [value("out put", F, ["n", 4])]), {"x:0": floats(2, 4)})
        self.agree("like a path", model([node("Relu", ["x"], ["../y"])], X, [value("../y", F, ["n", 4])]), {"x": floats(2, 4)})
        self.agree("none of nodes", model([node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["y"])], X, Y), {"x": floats(2, 4)})
        nameless = relu()
        nameless.graph.name = ""
        self.agree("none of the graph", nameless, {"x": floats(2, 4)})
        self.agree("none of operands", model([node("Clip", ["x", "", ""], ["y"])], X, Y), {"x": floats(2, 4)})
        doubled = Package(model([node("Relu", ["x"], ["a"], name="k"), node("Neg", ["a"], ["y"], name="k")], X, Y))
        np.testing.assert_array_equal(doubled.run({"x": floats(2, 4)})["y"], -np.maximum(floats(2, 4), 0))  # ONNX Runtime refuses it

    def test_order_of_nodes(self):
        self.agree("backwards", model([node("Neg", ["a"], ["y"]), node("Relu", ["x"], ["a"])], X, Y), {"x": floats(2, 4)})

    def test_imports(self):
        opset = helper.make_opsetid
        for what, imports in {"by its full name": [opset("ai.onnx", 17)], "twice": [opset("", 17), opset("", 17)], "two versions": [opset("", 13), opset("", 17)],
                              "not at all": [opset("ai.onnx.ml", 3)], "and others": [opset("", 17), opset("com.microsoft", 1), opset("foo", 9)]}.items():
            self.agree(what, relu(imports=imports), {"x": floats(2, 4)})
        cube = [value("x", F, [2, 3, 4])]
        for versions in ((9, 13), (13, 9)):
            self.agree(f"the last of {versions}", model([node("Softmax", ["x"], ["y"])], cube, [value("y")], imports=[opset("", v) for v in versions]), {"x": floats(2, 3, 4)})

    def test_words(self):
        made = relu()
        for place in (made, made.graph, made.graph.node[0], made.graph.input[0]):
            for text in "ab":
                entry = place.metadata_props.add()
                entry.key, entry.value = "k", text
        self.agree("doubled metadata", made, {"x": floats(2, 4)})
        made.graph.quantization_annotation.add().tensor_name = "x"
        self.agree("an annotation", made, {"x": floats(2, 4)})
        self.agree("a field of later days", relu().SerializeToString() + b"\xf2\x3f\x03abc", {"x": floats(2, 4)})

    def test_masks_of_dropout(self):
        for opset in (7, 9, 10, 12, 13):
            self.agree(f"opset {opset}", model([node("Dropout", ["x"], ["y", "m"])], X, Y + [value("m", F if opset < 10 else B, ["n", 4])], opset=opset, ir=4), {"x": floats(2, 4)})

    def test_types_of_weights(self):
        for dtype in "float16 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool".split():
            numbers = (np.arange(4) % 2).astype(dtype)
            for tensor in (numpy_helper.from_array(numbers, "w"), helper.make_tensor("w", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [4], numbers.tolist())):
                self.agree(dtype, model([node("Cast", ["w"], ["c"], to=F), node("Add", ["x", "c"], ["y"])], X, Y, [tensor]), {"x": floats(2, 4)})

    def test_external_data(self):
        with tempfile.TemporaryDirectory() as folder:
            made = model([node("MatMul", ["x", "w"], ["y"])], [value("x", F, ["n", 64])], [value("y", F, ["n", 64])], [constant("w", floats(64, 64), np.float32)])
            path = pathlib.Path(folder) / "m.onnx"
            onnx.save(made, path, save_as_external_data=True, location="w.bin", size_threshold=0)
            self.agree("beside the model", path, {"x": floats(2, 64)})
            (path.parent / "w.bin").unlink()
            self.refused(path, "external data 'w.bin': not found beside the model")

    def test_functions(self):
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
        twice = helper.make_function("my", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], opsets[:1])
        four = helper.make_function("my", "Four", ["a"], ["b"], [node("Twice", ["a"], ["c"], domain="my"), node("Twice", ["c"], ["b"], domain="my")], opsets)
        made = model([node("Four", ["x"], ["y"], domain="my")], X, Y, imports=opsets)
        made.functions.extend([twice, four])
        self.agree("in functions", made, {"x": floats(2, 4)})
        unused = relu(imports=opsets)
        unused.functions.append(twice)
        self.agree("not called", unused, {"x": floats(2, 4)})

    def test_functions_of_other_opsets_than_the_model_with_an_initializer_as_operand(self):
        mine = helper.make_opsetid("my", 1)
        for of_function, of_model in ((13, 17), (21, 22), (22, 21)):
            called = helper.make_function("my", "F", ["a", "b"], ["c"], [node("Add", ["a", "b"], ["c"])], [helper.make_opsetid("", of_function)])
            made = model([node("F", ["x", "w"], ["y"], domain="my")], X, [value("y", F, None)], [constant("w", floats(2, 4), np.float32)], imports=[helper.make_opsetid("", of_model), mine], ir=10)
            made.functions.append(called)
            self.agree(f"a function of opset {of_function} in a model of {of_model}", made, {"x": floats(2, 4)})
            branches = {f"{side}_branch": graph([node("F", [of, "w"], [side], domain="my")], [value(side, F, None)]) for side, of in (("then", "x"), ("else", "n"))}
            made = model([node("Neg", ["x"], ["n"]), node("If", ["c"], ["y"], **branches)], [*X, value("c", B, [])], [value("y", F, None)], [constant("w", floats(2, 4), np.float32)],
                         imports=[helper.make_opsetid("", of_model), mine], ir=10)
            made.functions.append(called)
            self.agree(f"a function of opset {of_function} in a branch of a model of {of_model}", made, {"x": floats(2, 4), "c": np.array(True)}, {"x": floats(2, 4), "c": np.array(False)})


if __name__ == "__main__":
    main()
