#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models of one ai.onnx.ml operator each, and pipelines of scikit-learn, with what ONNX Runtime makes of random inputs.

    generate_classical_tests.py OUT

The files are those of generate_contributed_tests.py; pipelines (OUT/sklearn_*) need skl2onnx, and are 200 rows each.
"""
import importlib.metadata
import importlib.util
import pathlib
import sys

import generate_contributed_tests as contributed
import numpy as np
from generate_contributed_tests import ML, Case, f32, random

F, I = np.float32, np.int64
words = np.array(["red", "green", "blue", "", "grün"], dtype=object)


def case(name, op, operands, outputs=1, **attributes):
    attributes.setdefault("tolerance", (1e-5, 1e-5))
    return Case(f"{op}_{name}", op, operands, outputs=outputs, domain=ML, **attributes)


def values():
    x = f32(6, 4)
    whole = random.integers(-5, 6, (6, 4))
    for name, v in (("f32", x), ("f64", x.astype(np.float64)), ("i32", whole.astype(np.int32)), ("i64", whole.astype(I))):
        yield case(name, "Scaler", [v], offset=[0.5, 1.0, -2.0, 0.25], scale=[2.0, 0.5, 1.0, -3.0])
        zeros = v.copy()
        zeros[2] = 0
        for norm in ("MAX", "L1", "L2"):
            yield case(f"{norm}_{name}", "Normalizer", [zeros], norm=norm)
    yield case("one", "Scaler", [x], offset=[0.5], scale=[2.0])
    yield case("vector", "Normalizer", [x[0]], norm="L2")
    yield case("default", "Binarizer", [x])
    yield case("limit", "Binarizer", [x], threshold=0.3)
    gaps = x.copy()
    gaps[1, 2] = gaps[4, 0] = np.nan
    yield case("nan", "Imputer", [gaps], imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan"))
    yield case("nan_one", "Imputer", [gaps], imputed_value_floats=[7.0], replaced_value_float=float("nan"))
    yield case("number", "Imputer", [np.round(x)], imputed_value_floats=[7.0], replaced_value_float=1.0)
    yield case("i64", "Imputer", [whole.astype(I)], imputed_value_int64s=[70, 71, 72, 73], replaced_value_int64=2)
    for name, at in (("", [1, 3]), ("_one", [2])):
        yield case("f32" + name, "ArrayFeatureExtractor", [x, np.array(at, I)])
        yield case("rows" + name, "ArrayFeatureExtractor", [x, np.array([at], I)])
        yield case("cube" + name, "ArrayFeatureExtractor", [f32(2, 3, 4), np.array(at, I)])
        yield case("vector" + name, "ArrayFeatureExtractor", [x[0], np.array(at, I)])
    yield case("strings", "ArrayFeatureExtractor", [words[None, :4], np.array([3, 0], I)])
    yield case("two", "FeatureVectorizer", [x, f32(6, 2)], inputdimensions=[4, 2])
    yield case("columns", "FeatureVectorizer", [whole[:, :1].astype(I), whole[:, 1:3].astype(I)], inputdimensions=[1, 2])


def labels():
    whole = random.integers(-2, 8, (3, 5)).astype(I)
    known = words[random.integers(0, 5, (3, 4))]
    reals = np.array([[1.0, 2.5, 3.0], [-0.5, 7.0, 2.5]], F)
    kinds = (("int64s", whole, [0, 1, 2, 3]), ("strings", known, ["green", "blue", "grün", "x"]), ("floats", reals, [2.5, -0.5, 1.0, 9.0]))
    for key, x, keys in kinds:
        for value, results, other in (("int64s", [5, 4, 7, 9], -3), ("strings", ["a", "bc", "", "ü"], "other"), ("floats", [0.5, 1.5, 2.5, 3.5], -1.0)):
            default = {"default_" + value[:-1]: other}
            yield case(f"{key}_{value}", "LabelEncoder", [x], **{"keys_" + key: keys, "values_" + value: results}, **default, ml=2)
    yield case("nan", "LabelEncoder", [np.array([np.nan, 1.0, 4.0], F)], keys_floats=[2.5, float("nan"), 1.0], values_int64s=[1, 2, 3], ml=4)
    yield case("scattered", "LabelEncoder", [whole], keys_int64s=[7, 0, 3, 7], values_int64s=[1, 2, 3, 4], ml=2)
    yield case("no_default", "LabelEncoder", [whole], keys_int64s=[7, 0, 3], values_strings=["1", "2", "3"], ml=2)
    yield case("old_numbers", "LabelEncoder", [whole], classes_strings=["a", "b", "c"], default_string="?", ml=1)
    yield case("old_strings", "LabelEncoder", [known], classes_strings=["blue", "red"], default_int64=9, ml=1)
    tensors = contributed.numpy_helper.from_array
    for kind in (np.float64, np.int64, np.float32):
        yield case(f"tensor_{np.dtype(kind).name}", "LabelEncoder", [whole.astype(kind)], ml=4, keys_tensor=tensors(np.array([3, 0, 5], kind)),
                   values_tensor=tensors(np.array([1, 2, 3], kind)), default_tensor=tensors(np.array([8], kind)))
    yield case("numbers", "CategoryMapper", [whole], cats_int64s=[0, 2, 5], cats_strings=["a", "b", "c"], default_string="?", ml=1)
    yield case("strings", "CategoryMapper", [known], cats_int64s=[0, 2, 5], cats_strings=["red", "blue", "grün"], default_int64=-7, ml=1)
    for kind in (np.int64, np.float32, np.float64):
        yield case(np.dtype(kind).name, "OneHotEncoder", [whole[:, :1].astype(kind)], cats_int64s=[0, 3, 1], zeros=1)
    yield case("rows", "OneHotEncoder", [whole], cats_int64s=[0, 3, 1, 2], zeros=1)
    yield case("strings", "OneHotEncoder", [known], cats_strings=["red", "blue", "grün"], zeros=1)


TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")


def linear():
    x = f32(7, 4)
    w, b = f32(3, 4, scale=0.05), np.array([0.2, 0.5, 0.7], F)
    flat = w.ravel().tolist()
    for how in TRANSFORMS:
        yield case(how, "LinearRegressor", [x], coefficients=flat, intercepts=b.tolist(), targets=3, post_transform=how)
        yield case(how, "LinearClassifier", [x], outputs=2, coefficients=flat, intercepts=b.tolist(), classlabels_ints=[4, 9, 2], post_transform=how)
        if how != "PROBIT":
            yield case("two_" + how, "LinearClassifier", [x], outputs=2, coefficients=flat[:4], intercepts=[0.1], classlabels_ints=[0, 1], post_transform=how)
    yield case("one", "LinearRegressor", [x], coefficients=flat[:4], intercepts=[0.5])
    yield case("plain", "LinearRegressor", [x], coefficients=flat[:8], targets=2)
    yield case("strings", "LinearClassifier", [x], outputs=2, coefficients=flat, intercepts=b.tolist(), classlabels_strings=["a", "b", "c"])
    yield case("two_strings", "LinearClassifier", [f32(9, 4)], outputs=2, coefficients=flat[:4], intercepts=[0.0], classlabels_strings=["no", "yes"])
    for kind in (np.float64, np.int32, np.int64):
        yield case(np.dtype(kind).name, "LinearClassifier", [np.round(3 * x).astype(kind)], outputs=2, coefficients=flat, intercepts=b.tolist(), classlabels_ints=[0, 1, 2])


def machines():
    x, vectors, coefficients = f32(9, 3), f32(6, 3), f32(6)
    for kernel, parameters in (("LINEAR", [0.0, 0.0, 0.0]), ("RBF", [0.4, 0.0, 0.0]), ("POLY", [0.3, 1.5, 3.0]), ("SIGMOID", [0.2, 0.1, 0.0])):
        given = dict(kernel_type=kernel, kernel_params=parameters)
        vectors_of = dict(support_vectors=vectors.ravel().tolist(), **given)
        for one_class in (0, 1):
            yield case(f"{kernel}_{one_class}", "SVMRegressor", [x], coefficients=coefficients.tolist(), rho=[0.3], n_supports=6, one_class=one_class, **vectors_of)
        yield case(kernel, "SVMClassifier", [x], outputs=2, coefficients=f32(12).tolist(), rho=[0.1, -0.2, 0.3], vectors_per_class=[2, 1, 3],
                   classlabels_ints=[3, 5, 7], **vectors_of)
        for how in ("NONE", "LOGISTIC"):
            yield case(f"{kernel}_two_{how}", "SVMClassifier", [x], outputs=2, coefficients=coefficients.tolist(), rho=[0.1], vectors_per_class=[2, 4],
                       classlabels_strings=["no", "yes"], post_transform=how, **vectors_of)
    for classes, per_class in ((2, [2, 4]), (3, [2, 1, 3]), (4, [1, 2, 1, 2])):
        pairs = classes * (classes - 1) // 2
        yield case(f"coupled_{classes}", "SVMClassifier", [3 * x], outputs=2, coefficients=f32(6 * (classes - 1)).tolist(), rho=f32(pairs).tolist(), vectors_per_class=per_class,
                   classlabels_ints=list(range(classes)), prob_a=(-1 - np.abs(f32(pairs))).tolist(), prob_b=f32(pairs).tolist(), **vectors_of)
    yield case("rows", "SVMRegressor", [x], coefficients=[0.5, -1.0, 2.0], rho=[0.3], n_supports=0, kernel_params=[0.0, 0.0, 0.0])
    yield case("rows", "SVMClassifier", [x], outputs=2, coefficients=f32(9).tolist(), rho=[0.3], classlabels_ints=[0, 1, 2], kernel_params=[0.0, 0.0, 0.0], post_transform="SOFTMAX")
    yield case("rows_two", "SVMClassifier", [x], outputs=2, coefficients=f32(6).tolist(), rho=[0.3], classlabels_ints=[0, 1], kernel_params=[0.0, 0.0, 0.0])


def grown(trees, features, levels, modes=("BRANCH_LEQ",), tracks=False):
    """Random trees of at most so many levels, all or one by one: attributes of their nodes, and (tree, node) of their leaves. Limits are halves, so that samples lie on them."""
    nodes, leaves = [], []
    for tree in range(trees):
        count = 0
        most = levels if isinstance(levels, int) else levels[tree]

        def grow(level):
            nonlocal count
            me, count = count, count + 1
            row = dict(treeids=tree, nodeids=me, truenodeids=0, falsenodeids=0, featureids=0, values=0.0, modes="LEAF", missing_value_tracks_true=0)
            nodes.append(row)
            if level == most or (level > 0 and random.random() < 0.2):
                leaves.append((tree, me))
                return me
            row.update(featureids=int(random.integers(features)), values=float(random.integers(-2, 3)) / 2, modes=str(random.choice(modes)),
                       missing_value_tracks_true=int(tracks and random.random() < 0.5))
            row["truenodeids"] = grow(level + 1)
            row["falsenodeids"] = grow(level + 1)
            return me

        grow(0)
    return {"nodes_" + key: [row[key] for row in nodes] for key in nodes[0] if key != "missing_value_tracks_true" or tracks}, leaves


def weighted(stem, leaves, ids, low=-1.0):
    rows = [(tree, node, k, float(F(random.uniform(low, 1.0)))) for tree, node in leaves for k in ids]
    return {f"{stem}_{name}": [r[i] for r in rows] for i, name in enumerate(("treeids", "nodeids", "ids", "weights"))}


ALL = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def trees():
    x = (random.integers(-4, 5, (40, 5)) / 4).astype(F)
    gaps = x.copy()
    gaps[random.random(x.shape) < 0.2] = np.nan
    op = "TreeEnsembleRegressor"
    for mode in ALL:
        nodes, leaves = grown(4, 5, 4, (mode,))
        yield case(mode, op, [x], n_targets=1, **nodes, **weighted("target", leaves, [0]))
    nodes, leaves = grown(5, 5, 5, ALL)
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        yield case(aggregate, op, [gaps], n_targets=2, aggregate_function=aggregate, base_values=[0.5, -0.25], **nodes, **weighted("target", leaves, [0, 1]))
        yield case(aggregate + "_one", op, [x], n_targets=1, aggregate_function=aggregate, base_values=[0.5], **nodes, **weighted("target", leaves, [0]))
    for how in TRANSFORMS[:4]:
        yield case(how, op, [x], n_targets=3, post_transform=how, **nodes, **weighted("target", leaves, [0, 1, 2]))
        yield case(how + "_one", op, [x], n_targets=1, post_transform=how, **nodes, **weighted("target", leaves, [0]))
    yield case("f64", op, [x.astype(np.float64)], n_targets=1, **nodes, **weighted("target", leaves, [0]))
    tracked, leaves_t = grown(4, 5, 5, ALL[:2], tracks=True)
    yield case("tracks", op, [gaps], n_targets=1, **tracked, **weighted("target", leaves_t, [0]))
    single, leaf = grown(2, 5, 0)
    yield case("leaves_only", op, [x], n_targets=1, **single, **weighted("target", leaf, [0]))
    op = "TreeEnsembleClassifier"
    for low, sign in ((0.0, "positive"), (-1.0, "mixed")):
        for how in TRANSFORMS[:4]:
            yield case(f"{how}_{sign}", op, [x], outputs=2, classlabels_int64s=[3, 1, 7], post_transform=how, **nodes, **weighted("class", leaves, [0, 1, 2], low))
            for only in (0, 1):
                for base in ([], [0.25], [0.25, -0.5]):
                    given = dict(base_values=base) if base else {}
                    yield case(f"two_{how}_{sign}_{only}_{len(base)}", op, [x], outputs=2, classlabels_int64s=[0, 1], post_transform=how, **given, **nodes,
                               **weighted("class", leaves, [only], low / 10 if low else 0.0))
            for base in ([], [0.25], [0.25, -0.5]):
                given = dict(base_values=base) if base else {}
                yield case(f"two_{how}_{sign}_both_{len(base)}", op, [x], outputs=2, classlabels_int64s=[0, 1], post_transform=how, **given, **nodes,
                           **weighted("class", leaves, [0, 1], low))
    yield case("base", op, [x], outputs=2, classlabels_strings=["a", "b", "c"], base_values=[0.1, 0.2, -0.3], **nodes, **weighted("class", leaves, [0, 1, 2]))
    for kind in (np.float64, np.int64, np.int32):
        yield case(np.dtype(kind).name, op, [np.round(4 * x).astype(kind)], outputs=2, classlabels_int64s=[0, 1, 2], **nodes, **weighted("class", leaves, [0, 1, 2]))
    yield from tensors(x, gaps)
    yield from uneven(gaps)


def uneven(x):
    """Trees that are at their leaves while others walk on, in an order that is not that of their levels."""
    op, levels = "TreeEnsembleRegressor", [1, 7, 0, 3, 9, 2, 9, 1, 5, 0, 2, 4]
    for name, modes, tracks in (("uneven", ALL[:1], False), ("uneven_all", ALL, True)):
        nodes, leaves = grown(len(levels), 5, levels, modes, tracks)
        yield case(name, op, [x], n_targets=1, **nodes, **weighted("target", leaves, [0]))
        yield case(name + "_three", op, [x], n_targets=3, **nodes, **weighted("target", leaves, [0, 1, 2]))
    nodes, leaves = grown(3, 5, [1, 5, 2])
    sums = weighted("target", leaves, [0])
    sums["target_weights"] = [(1e8, -1e8, 1.0)[tree] for tree in sums["target_treeids"]]  # 1, when they are summed in their order
    yield case("uneven_order", op, [x], n_targets=1, **nodes, **sums)


def tensors(x, gaps):
    """Two trees: x0 <= 0.25 (x1 in a set ? leaf 0 : x2 > 0 ? leaf 1 : leaf 2) : leaf 3, and one that goes to the same leaf either way. ONNX
    Runtime takes sets of integers only, and has SOFTMAX and LOGISTIC the other way round than ONNX says."""
    x, gaps = np.round(4 * x), np.round(4 * gaps)
    for kind in (F, np.float64):
        array = contributed.numpy_helper.from_array
        splits, nan = np.array([0.25, 0.0, 0.0, 0.0], kind), float("nan")
        given = dict(nodes_splits=array(splits), nodes_featureids=[0, 1, 2, 3], nodes_modes=array(np.array([0, 6, 3, 0], np.uint8)), nodes_truenodeids=[1, 0, 1, 4],
                     nodes_trueleafs=[0, 1, 1, 1], nodes_falsenodeids=[3, 2, 2, 4], nodes_falseleafs=[1, 0, 1, 1], tree_roots=[0, 3], leaf_targetids=[0, 1, 0, 1, 0],
                     leaf_weights=array(np.array([0.5, -1.25, 2.0, 0.75, 4.0], kind)), membership_values=array(np.array([2.0, -1.0, 1.0, nan], kind)), n_targets=2)
        for aggregate in (0, 1):
            yield case(f"{np.dtype(kind).name}_{aggregate}", "TreeEnsemble", [gaps.astype(kind)], aggregate_function=aggregate, ml=5, **given)
    for how in (0, 3):
        yield case(f"transform_{how}", "TreeEnsemble", [x], aggregate_function=1, post_transform=how, ml=5,
                   **{k: v for k, v in given.items() if k not in ("nodes_splits", "leaf_weights", "membership_values")},
                   nodes_splits=array(splits.astype(F)), leaf_weights=array(np.array([0.5, -1.25, 2.0, 0.75, 4.0], F)), membership_values=array(np.array([2.0, nan], F)))


class Pipeline:
    """A trained model of scikit-learn, as skl2onnx writes it."""

    def __init__(self, name, model, rows, tolerance=(1e-4, 1e-4), **options):
        self.name, self.model, self.rows, self.tolerance, self.options = "sklearn_" + name, model, rows, tolerance, options

    def write(self, folder):
        from skl2onnx import to_onnx
        made = to_onnx(self.model, self.rows[:1], target_opset=dict({"": 21, ML: 3}), options={id(self.model): self.options} if self.options else None)
        contributed.write_model(folder, made, {made.graph.input[0].name: self.rows}, self.tolerance)


def pipelines():
    from sklearn.cluster import KMeans
    from sklearn.compose import ColumnTransformer
    from sklearn.decomposition import PCA
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, Normalizer, OneHotEncoder, StandardScaler
    from sklearn.svm import SVC, SVR
    from sklearn.tree import DecisionTreeClassifier

    fresh = np.random.default_rng(7)
    x = fresh.standard_normal((200, 6)).astype(F)
    x[:, 4:] = fresh.integers(0, 4, (200, 2))
    two = (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(I)
    three = two + (x[:, 3] > 0.5)
    real = (x[:, 0] * 2 + x[:, 1] ** 2).astype(F)
    named = np.array(["low", "mid", "high"])[three]
    plain = dict(zipmap=False)
    for tag, y in (("two", two), ("three", three), ("named", named)):
        yield Pipeline("logistic_" + tag, make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y), x, **plain)
        yield Pipeline("forest_" + tag, RandomForestClassifier(12, max_depth=7, random_state=1).fit(x, y), x, **plain)
        yield Pipeline("boosting_" + tag, GradientBoostingClassifier(n_estimators=8, random_state=1).fit(x, y), x, **plain)
        yield Pipeline("svc_" + tag, make_pipeline(StandardScaler(), SVC()).fit(x, y), x)
        yield Pipeline("svc_probability_" + tag, SVC(probability=True, random_state=1).fit(x, y), x, **plain)
        yield Pipeline("tree_" + tag, DecisionTreeClassifier(random_state=1).fit(x, y), x, **plain)
        yield Pipeline("mlp_" + tag, MLPClassifier((9,), max_iter=60, random_state=1).fit(x, y), x, **plain)
    yield Pipeline("zipmap", make_pipeline(StandardScaler(), LogisticRegression()).fit(x, three), x)
    yield Pipeline("ridge", make_pipeline(MinMaxScaler(), Ridge()).fit(x, real), x)
    yield Pipeline("forest", RandomForestRegressor(12, random_state=1).fit(x, real), x)
    yield Pipeline("boosting", GradientBoostingRegressor(n_estimators=12, random_state=1).fit(x, real), x)
    yield Pipeline("svr", make_pipeline(Normalizer(), SVR()).fit(x, real), x)
    yield Pipeline("kmeans", KMeans(4, n_init=1, random_state=1).fit(x), x, tolerance=(1e-4, 1e-3))
    yield Pipeline("pca", make_pipeline(StandardScaler(), PCA(3)).fit(x), x)
    columns = ColumnTransformer([("numbers", StandardScaler(), [0, 1, 2, 3]), ("categories", OneHotEncoder(handle_unknown="ignore"), [4, 5])])
    yield Pipeline("columns", make_pipeline(columns, LogisticRegression()).fit(x, two), x, **plain)


def cases():
    for group in (values, labels, linear, machines, trees):
        yield from group()
    if importlib.util.find_spec("skl2onnx"):
        yield from pipelines()
    else:
        print("no skl2onnx: no pipelines of scikit-learn")


if __name__ == "__main__":
    here = pathlib.Path(__file__)
    packages = " ".join(f"{name} {importlib.metadata.version(name)}" for name in ("scikit-learn", "skl2onnx") if importlib.util.find_spec(name.replace("scikit-learn", "sklearn")))
    sys.exit(contributed.write_all(pathlib.Path(sys.argv[1]), cases, here, here.with_name("generate_contributed_tests.py"), made_with=packages))
