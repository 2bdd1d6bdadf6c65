# SPDX-License-Identifier: Apache-2.0
"""Models with texts at their ends, as skl2onnx writes them and by hand: texts go in and come out as ONNX Runtime has them, from files and from Python."""
import importlib.util
import os

from support import *

os.environ["OPTIMA_HOST"] = str(BUILD / "bin/optima-host")
sys.path.insert(0, str(BUILD / "python"))
S = TensorProto.STRING
SKLEARN = importlib.util.find_spec("skl2onnx") is not None


def texts(*words):
    return np.array(words, dtype=object)


def answers_of(made, given):
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, given)))


class Texts(Case):
    def same(self, what, made, *inputs, options=(), left_out=()):
        """From files and in Python as ONNX Runtime, for all of these inputs; gives the package."""
        import optima
        package = Package(made, *options, device=None)
        self.assertEqual(package.code, 0, f"{what}: {package.said}")
        loaded = optima.Package(package.folder / "out/m", plugins=BUILD / "lib/optima/plugins")
        for given in inputs:
            wanted = {name: answer for name, answer in answers_of(made, given).items() if name not in left_out}
            by_file = package.run({name: array.astype(str) if array.dtype == object else array for name, array in given.items()})
            self.assertIsInstance(by_file, dict, f"{what}: {by_file}")
            for how, found in (("files", by_file), ("Python", loaded.run(given))):
                for name, answer in wanted.items():
                    if answer.dtype == object:
                        self.assertEqual(found[name].dtype.kind, "U", f"{what}: {name} by {how}")
                        self.assertEqual(found[name].tolist(), answer.tolist(), f"{what}: {name} by {how}")
                    else:
                        self.close(found[name], answer, f"{what}: {name} by {how}")
        return package

    def encoder(self, keys, values, **default):
        """LabelEncoder from texts or integers to texts, integers or floats."""
        kind = lambda what: {str: "strings", int: "int64s", float: "floats"}[type(what[0])]
        ends = {"strings": S, "int64s": I, "floats": F}
        made = model([node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", **{f"keys_{kind(keys)}": keys, f"values_{kind(values)}": values}, **default)],
                     [value("x", ends[kind(keys)], ["n"])], [value("y", ends[kind(values)], ["n"])], imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)], ir=10)
        return made

    def test_encoders_of_texts(self):
        x = texts("b", "zebra", "a", "", "größer")
        self.same("to integers", self.encoder(["a", "b", "größer"], [5, 7, -3], default_int64=-9), {"x": x}, {"x": x[:2]})
        self.same("to texts", self.encoder(["a", "b"], ["one", "two"], default_string="none"), {"x": x})
        self.same("from integers", self.encoder([3, 9], ["three", "größer"], default_string="?"), {"x": np.array([9, 3, 4])})

    def test_texts_that_a_model_moves_about(self):
        nodes = [node("Gather", ["names", "at"], ["found"]), node("Where", ["which", "found", "none"], ["y"]), node("Transpose", ["y"], ["t"], perm=[1, 0])]
        names = [helper.make_tensor("names", S, [3], ["low", "mid", "high"]), helper.make_tensor("none", S, [], [""])]
        made = model(nodes, [value("at", I, ["n", 2]), value("which", B, ["n", 2])], [value("y", S, ["n", 2]), value("t", S, [2, "n"])], names)
        self.same("moves", made, {"at": np.array([[2, 0], [1, 1], [0, 2]]), "which": np.array([[True, False], [True, True], [False, True]])})

    def test_what_works_on_the_texts_is_refused_by_name(self):
        made = model([node("StringNormalizer", ["x"], ["y"], name="lower", case_change_action="LOWER")], [value("x", S, ["n"])], [value("y", S, ["m"])])
        package = Package(made, device=None)
        self.assertNotEqual(package.code, 0)
        self.assertIn("texts stay, which no device may take: node 'lower' (StringNormalizer) works on the texts themselves", package.said)

    def test_inputs_that_are_no_texts_are_one_sentence(self):
        import optima
        package = self.same("numbers", self.encoder(["a"], [1]), {"x": texts("a")})
        self.assertIn("found array type '<i8', wanted texts such as '<U7'", package.run({"x": np.array([1])}))
        loaded = optima.Package(package.folder / "out/m", plugins=BUILD / "lib/optima/plugins")
        for wrong in (np.array([1]), np.array(["a", None], dtype=object)):
            with self.assertRaisesRegex(optima.Error, "input 'x': found an element .*, wanted str"):
                loaded.run(x=wrong)

    def test_inspect_and_explain_say_where_texts_are_codes(self):
        package = self.same("said", self.encoder(["a", "b"], ["one", "two"]), {"x": texts("a")})
        _, said = host("inspect", package.folder / "out/m")
        self.assertIn("x  string ?, codes of 2 texts", said)
        self.assertIn("y  string ?, codes of 3 texts", said)
        _, said = host("explain", package.folder / "out/m")
        self.assertIn("the texts of 'x' are codes of 2 texts on devices", said)
        self.assertEqual(json.loads((package.folder / "out/m/model.meta").read_text())["format"], 5)

    def test_a_model_with_texts_is_quantized_and_compared_by_samples_with_texts(self):
        strong = lambda *shape: floats(*shape) * 3
        nodes = [node("LabelEncoder", ["s"], ["i"], domain="ai.onnx.ml", keys_strings=["a", "b", "c"], values_int64s=[0, 1, 2], default_int64=0), node("Gather", ["table", "i"], ["v"]),
                 node("Concat", ["v", "x"], ["vx"], axis=1), node("MatMul", ["vx", "w"], ["y"]), node("ArgMax", ["y"], ["best"], axis=1, keepdims=0), node("Gather", ["names", "best"], ["label"])]
        constants = [constant("table", strong(3, 4), np.float32), constant("w", strong(8, 3), np.float32), helper.make_tensor("names", S, [3], ["one", "two", "three"])]
        made = model(nodes, [value("s", S, ["n"]), value("x", F, ["n", 4])], [value("label", S, ["n"]), value("y", F, ["n", 3])], constants,
                     imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)], ir=10)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            file, quantized, given = folder / "m.onnx", folder / "q.onnx", {"s": np.array(["c", "a", "other"]), "x": floats(3, 4)}
            file.write_bytes(made.SerializeToString())
            (folder / "samples").mkdir()
            for k in range(3):
                np.savez(folder / f"samples/{k}.npz", s=np.array(["a", "b"]), x=floats(2, 4) + k)
            np.savez(folder / "stacked.npz", s=np.array([["a", "b"], ["c", "zebra"]]), x=floats(2, 2, 4))
            np.savez(folder / "given.npz", **given)
            np.savez(folder / "numbers.npz", s=np.array([[1, 2]]), x=floats(1, 2, 4))
            for samples in ("samples", "stacked.npz"):
                code, said = host("quantize", file, "--calib", folder / samples, "-o", quantized)
                self.assertEqual(code, 0, said)
            code, said = host("quantize", file, "--calib", folder / "numbers.npz", "-o", quantized)
            self.assertEqual(code, 3, said)
            self.assertIn("found array type '<i8', wanted texts such as '<U7'", said)
            code, said = host("compare", file, quantized, "--layers", "--calib", folder / "samples")
            self.assertEqual(code, 0, said)
            self.assertIn("'y'", said)
            for options in ((), ("--precision", "int8", "--calib", folder / "samples")):
                package = Package(made, *options, device=None)
                self.assertEqual(package.code, 0, package.said)
                self.assertEqual(package.run(given)["label"].tolist(), answers_of(made, {**given, "s": given["s"].astype(object)})["label"].tolist())
                if not options:
                    code, said = host("compare", file, package.folder / "out/m", "--input", folder / "given.npz")
                    self.assertEqual(code, 0, said)
                    self.assertIn("label", said)

    def test_codes_are_compared_by_their_texts(self):
        """The model's table has a text more than that of the package, in which a branch is gone."""
        then = graph([node("Identity", ["first"], ["t"])], [value("t", S, None)], constants=[helper.make_tensor("first", S, [1], ["gone"])])
        other = graph([node("Gather", ["names", "at"], ["e"])], [value("e", S, None)])
        made = model([node("If", ["never"], ["y"], then_branch=then, else_branch=other)], [value("at", I, ["n"])], [value("y", S, None)],
                     [helper.make_tensor("names", S, [3], ["low", "mid", "high"]), constant("never", False, bool)])
        package = Package(made, device=None)
        self.assertEqual(package.code, 0, package.said)
        np.save(package.folder / "at.npy", np.array([2, 0, 1]))
        code, said = host("compare", package.file, package.folder / "out/m", "--input", package.folder / "at.npy")
        self.assertEqual(code, 0, said)
        wrong = model([node("Gather", ["names", "at"], ["y"])], [value("at", I, ["n"])], [value("y", S, None)], [helper.make_tensor("names", S, [3], ["low", "middle", "high"])])
        (package.folder / "wrong.onnx").write_bytes(wrong.SerializeToString())
        code, said = host("compare", package.folder / "wrong.onnx", package.folder / "out/m", "--input", package.folder / "at.npy")
        self.assertEqual(code, 6, said)

    def test_pipelines_of_scikit_learn(self):
        if not SKLEARN:
            print("SKIP: skl2onnx is not installed; scripts/setup --with tests does that")
            return
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType, StringTensorType
        from sklearn.compose import ColumnTransformer
        from sklearn.datasets import load_iris
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
        from sklearn.svm import SVC
        iris = load_iris()
        x, y = iris.data.astype(np.float32), iris.target_names[iris.target]
        for name, learner in (("logistic", make_pipeline(StandardScaler(), LogisticRegression())), ("forest", RandomForestClassifier(5, random_state=1)), ("svc", SVC())):
            made = to_onnx(learner.fit(x, y), x[:1], target_opset={"": 21, "ai.onnx.ml": 3}, options={id(learner): {"zipmap": False}})
            self.same(name, made, {"X": x}, {"X": x[:3]})
        zipped = to_onnx(LogisticRegression().fit(x, y), x[:1], target_opset={"": 21, "ai.onnx.ml": 3})
        self.same("with a map", zipped, {"X": x}, left_out=["output_probability"])
        fresh = np.random.default_rng(3)
        colors, sizes = np.array(["red", "green", "blue"])[fresh.integers(0, 3, 60)], np.array(["s", "m", "l"])[fresh.integers(0, 3, 60)]
        columns = np.stack([colors, sizes], axis=1).astype(object)
        unseen = columns[:6].copy()
        unseen[0, 0], unseen[3, 1] = "pink", ""
        target = np.where((colors == "red") | (sizes == "l"), "yes", "no")
        for name, encoder in (("one hot", OneHotEncoder(handle_unknown="ignore")), ("ordinal", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1))):
            learner = make_pipeline(encoder, LogisticRegression())
            made = to_onnx(learner.fit(columns, target), initial_types=[("x", StringTensorType([None, 2]))], target_opset={"": 21, "ai.onnx.ml": 3}, options={id(learner): {"zipmap": False}})
            self.same(name, made, {"x": columns}, {"x": unseen} if name == "one hot" else {"x": columns[:5]})
        mixed = ColumnTransformer([("numbers", StandardScaler(), [0]), ("words", OneHotEncoder(handle_unknown="ignore"), [1, 2])])
        weights = fresh.standard_normal((60, 1)).astype(np.float32)
        learner = make_pipeline(mixed, LogisticRegression()).fit(np.concatenate([weights.astype(object), columns], axis=1), target)
        made = to_onnx(learner, initial_types=[("weight", FloatTensorType([None, 1])), ("color", StringTensorType([None, 1])), ("size", StringTensorType([None, 1]))],
                       target_opset={"": 21, "ai.onnx.ml": 3}, options={id(learner): {"zipmap": False}})
        self.same("columns", made, {"weight": weights, "color": colors[:, None].astype(object), "size": sizes[:, None].astype(object)})


if __name__ == "__main__":
    main()
