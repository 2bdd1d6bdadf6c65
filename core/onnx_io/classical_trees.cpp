// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: recipes of ai.onnx.ml: TreeEnsembleRegressor, TreeEnsembleClassifier, TreeEnsemble. classical_forest.hpp walks the
// trees; here is what becomes of their leaves.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/onnx_io/classical_forest.hpp"

namespace optima::onnx_io::recipes {
namespace {

constexpr int64_t kMostWeights = int64_t{1} << 28;

Mode mode_of(const std::string& name) {
  static const std::map<std::string, Mode> known{{"BRANCH_LEQ", kLeq}, {"BRANCH_LT", kLt}, {"BRANCH_GTE", kGte}, {"BRANCH_GT", kGt}, {"BRANCH_EQ", kEq}, {"LEAF", kLeaf}};
  const auto at = known.find(name);
  return at == known.end() ? kNeq : at->second;
}

/// Numbers of an attribute, as floats or as a tensor of doubles; `doubles` is set by the latter.
std::vector<double> numbers(const Contributed& n, const std::string& name, bool* doubles) {
  std::vector<double> out;
  if (const auto t = n.tensor((name + "_as_tensor").c_str()); t && t->dtype == kF64) {
    out.resize(t->bytes.size() / sizeof(double));
    std::memcpy(out.data(), t->bytes.data(), out.size() * sizeof(double));
    *doubles = true;
    return out;
  } else if (t && t->dtype == kF32) {
    std::vector<float> f(t->bytes.size() / sizeof(float));
    std::memcpy(f.data(), t->bytes.data(), f.size() * sizeof(float));
    return {f.begin(), f.end()};
  }
  const std::vector<float> f = n.reals(name.c_str());
  return {f.begin(), f.end()};
}

/// heights(); empty after a refusal of trees that nobody can walk.
std::vector<int64_t> walkable(Contributed& n, const Forest& f) {
  const auto dims = n.dims(0);
  const int64_t features = dims && !dims->empty() ? dims->back() : -1, last = *std::max_element(f.feature.begin(), f.feature.end());
  std::vector<int64_t> all = heights(f);
  if (all.empty()) n.refuse(cat("a tree runs in a circle, or has over ", kMostLevels, " levels"));
  if (features >= 0 && last >= features) n.refuse(cat("attribute nodes_featureids has ", last, ", the input has ", features, " features"));
  return n.refusal().empty() ? all : std::vector<int64_t>();
}

/// s [N, targets]: what the trees' leaves have for each target, by `aggregate` (SUM, AVERAGE, MIN, MAX), plus `base` where it is not empty.
Text summed(Contributed& n, const Forest& f, const std::vector<int64_t>& heights, const Text& aggregate, const std::vector<double>& base) {
  Text out = walked(n, f, heights);
  std::vector<double> weights = f.weights;
  const bool least = aggregate == "MIN", most = aggregate == "MAX";
  for (size_t k = 0; k < weights.size() && (least || most); ++k)
    if (!f.weighted[k]) weights[k] = least ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  const bool single = f.targets == 1;
  const Text w = reals(n, f, "weights", weights, single ? Dims{f.size()} : Dims{f.size(), f.targets});
  const Text op = least ? "ReduceMin" : most ? "ReduceMax" : "ReduceSum";
  out += cat("leaves = Gather(", w, ", leaf) trees = Constant <value_ints = [0]> () ", single ? "tn" : "t", " = ", op, " <keepdims = 0> (leaves, trees) ");
  if (single) out += "column = Constant <value_ints = [1]> () t = Unsqueeze(tn, column) ";
  Text last = "t";
  if (aggregate == "AVERAGE") {
    out += cat("ta = Div(t, ", reals(n, f, "trees_count", {static_cast<double>(f.roots.size())}, {}), ") ");
    last = "ta";
  }
  if (base.empty()) return out + cat("s = Identity(", last, ") ");
  return out + cat("s = Add(", last, ", ", reals(n, f, "base", base, {f.targets}), ") ");
}

/// The nodes of TreeEnsembleRegressor and -Classifier; `stem` is "target" or "class". False after a refusal.
bool read(Contributed& n, const std::string& stem, int64_t targets, Forest& f) {
  bool doubles = false;
  const auto refuse = [&](std::string why) { return n.refuse(std::move(why)), false; };
  const auto trees = n.integers("nodes_treeids"), ids = n.integers("nodes_nodeids"), yes = n.integers("nodes_truenodeids"), no = n.integers("nodes_falsenodeids");
  const auto modes = n.texts("nodes_modes");
  const auto tracks = n.integers("nodes_missing_value_tracks_true");
  f.feature = n.integers("nodes_featureids"), f.limit = numbers(n, "nodes_values", &doubles), f.targets = targets;
  const size_t count = trees.size();
  for (const auto& [name, size] : {std::pair{"nodes_nodeids", ids.size()}, {"nodes_truenodeids", yes.size()}, {"nodes_falsenodeids", no.size()}, {"nodes_modes", modes.size()},
                                   {"nodes_featureids", f.feature.size()}, {"nodes_values", f.limit.size()}})
    if (size != count || count == 0) return refuse(cat("attribute ", name, " has ", size, " elements, wanted those of ", count, " nodes, as nodes_treeids"));
  if (targets < 1 || static_cast<int64_t>(count) > kMostWeights / targets) return refuse(cat(count, " nodes of ", targets, " targets are too many"));
  std::map<std::pair<int64_t, int64_t>, int64_t> number;
  for (size_t k = 0; k < count; ++k) {
    if (!number.emplace(std::pair{trees[k], ids[k]}, static_cast<int64_t>(k)).second) return refuse(cat("node ", ids[k], " of tree ", trees[k], " is there twice"));
    if (k == 0 || trees[k] != trees[k - 1]) f.roots.push_back(static_cast<int64_t>(k));
    f.mode.push_back(mode_of(modes[k]));
    f.track.push_back(k < tracks.size() && tracks[k] == 1);
  }
  for (size_t k = 0; k < count; ++k) {
    const auto self = static_cast<int64_t>(k);
    if (f.mode[k] == kLeaf) {
      f.yes.push_back(self), f.no.push_back(self), f.feature[k] = 0, f.limit[k] = 0, f.track[k] = 0;
      continue;
    }
    const auto a = number.find({trees[k], yes[k]}), b = number.find({trees[k], no[k]});
    if (a == number.end() || b == number.end()) return refuse(cat("node ", ids[k], " of tree ", trees[k], " has a child that is not there"));
    if (f.feature[k] < 0) return refuse(cat("attribute nodes_featureids has ", f.feature[k], ", wanted 0 or more"));
    f.yes.push_back(a->second), f.no.push_back(b->second);
  }
  const auto of_tree = n.integers((stem + "_treeids").c_str()), of_node = n.integers((stem + "_nodeids").c_str()), of_target = n.integers((stem + "_ids").c_str());
  const auto weights = numbers(n, stem + "_weights", &doubles);
  if (of_node.size() != weights.size() || of_tree.size() != weights.size() || of_target.size() != weights.size())
    return refuse(cat("attribute ", stem, "_weights has ", weights.size(), " elements, wanted as many as ", stem, "_ids, _nodeids and _treeids"));
  f.weights.assign(count * static_cast<size_t>(targets), 0), f.weighted.assign(f.weights.size(), 0);
  for (size_t k = 0; k < weights.size(); ++k) {
    const auto at = number.find({of_tree[k], of_node[k]});
    if (at == number.end() || of_target[k] < 0 || of_target[k] >= targets)
      return refuse(cat("a weight is for node ", of_node[k], " of tree ", of_tree[k], " and target ", of_target[k], ", wanted a node that is there and a target below ", targets));
    const size_t cell = static_cast<size_t>(at->second * targets + of_target[k]);
    f.weights[cell] += weights[k], f.weighted[cell] = 1;
  }
  f.type = doubles || n.dtype(0) == kF64 ? kF64 : kF32;
  f.members.resize(count);
  return true;
}

/// Both kinds that have their nodes in many attributes. Empty after a refusal.
Text ensemble(Contributed& n, const std::string& stem, int64_t targets, const Text& aggregate, std::vector<double> base, Forest& f) {
  if (!read(n, stem, targets, f)) return "";
  const std::vector<int64_t> heights = walkable(n, f);
  if (heights.empty()) return "";
  return cat(samples(n, "x", "X", f.type), summed(n, f, heights, aggregate, base));
}

Text to_floats(const Forest& f) { return f.type == kF64 ? cat("sf = Cast <to = ", kF32, "> (s) ") : Text("sf = Identity(s) "); }

}  // namespace

Text tree_ensemble_regressor(Contributed& n) {
  const int64_t targets = n.integer("n_targets", 1);
  bool doubles = false;
  std::vector<double> base = numbers(n, "base_values", &doubles);
  if (static_cast<int64_t>(base.size()) != targets) base.clear();
  Forest f;
  const Text steps = ensemble(n, "target", targets, n.text("aggregate_function", "SUM"), base, f);
  const Text how = n.text("post_transform", "NONE");
  // ONNX Runtime transforms several scores only, but for PROBIT.
  return cat("(X) => (Y) { ", steps, to_floats(f), transformed(targets == 1 && how != "PROBIT" ? "NONE" : how, "Y", "sf"), "}");
}

namespace {

/// What a classifier of two classes makes of s [N, 2], as ONNX Runtime does: a model that has weights for one class only means the score of the
/// second by it. `only`: that class, -1 for both. What no weight is for counts as 0, whatever its base.
Text of_two(Contributed& n, const Labels& labels, int only, bool positive, size_t bases, const Text& how) {
  const Text columns = cat("zero = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> () two = Constant <value_ints = [2]> () "
                           "s0 = Slice(sf, zero, one, one) s1 = Slice(sf, one, two, one) none = Sub(s0, s0) ");
  const double limit = only >= 0 && positive ? 0.5 : 0;
  const auto done = [&](const Text& score, const Text& last) { return cat(columns, last, above("at", score, limit), labelled(n, labels, "Y", "at"), "}"); };
  const auto of_columns = [&](const Text& a, const Text& b) { return cat("both = Concat <axis = 1> (", a, ", ", b, ") ", transformed(how, "Z", "both")); };
  if (only == 0) return done("s0", bases == 2 ? of_columns("s0", "none") : of_one("Z", "s0", positive, how));
  if (bases == 2) return done("s0", only == 1 ? of_columns("none", "s0") : cat(two_columns("both", "s0", false), transformed(how, "Z", "both")));
  return done("s1", only == 1 ? of_columns("none", "s1") : transformed(how, "Z", "sf"));
}

}  // namespace

Text tree_ensemble_classifier(Contributed& n) {
  const Labels labels = labels_of(n, "classlabels_int64s", "classlabels_strings");
  const std::vector<int64_t> ids = n.integers("class_ids");
  if (labels.count() < 1) return n.refuse("attributes classlabels_int64s and classlabels_strings, wanted one of them");
  bool doubles = false;
  std::vector<double> base = numbers(n, "base_values", &doubles);
  const std::vector<double> weights = numbers(n, "class_weights", &doubles);
  const bool positive = std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; });
  const std::set<int64_t> classes(ids.begin(), ids.end());
  const int64_t count = labels.count();
  const size_t bases = base.size();
  const Text how = n.text("post_transform", "NONE");
  const int only = classes.size() == 1 && (*classes.begin() == 0 || *classes.begin() == 1) ? static_cast<int>(*classes.begin()) : -1;
  if (count == 2 && bases == 1) base = {base[0], 0};
  else if (count == 2 && bases == 2 && only != 0) base = {base[1], 0};
  else if (bases != static_cast<size_t>(count)) base.clear();
  Forest f;
  const Text scores = ensemble(n, "class", count, "SUM", base, f), steps = cat("(X) => (Y, Z) { ", scores, to_floats(f));
  if (count == 2) return steps + of_two(n, labels, only, positive, bases, how);
  return cat(steps, "at = ArgMax <axis = 1, keepdims = 0> (sf) ", labelled(n, labels, "Y", "at"), transformed(how, "Z", "sf"), "}");
}

namespace {

/// Inner nodes, then leaves. False after a refusal.
bool read_tensors(Contributed& n, Forest& f) {
  const auto refuse = [&](std::string why) { return n.refuse(std::move(why)), false; };
  const auto split = n.tensor("nodes_splits"), modes = n.tensor("nodes_modes"), leaf = n.tensor("leaf_weights"), sets = n.tensor("membership_values");
  const auto yes = n.integers("nodes_truenodeids"), no = n.integers("nodes_falsenodeids"), yes_leaf = n.integers("nodes_trueleafs"), no_leaf = n.integers("nodes_falseleafs");
  const auto track = n.integers("nodes_missing_value_tracks_true"), of_target = n.integers("leaf_targetids");
  f.roots = n.integers("tree_roots"), f.feature = n.integers("nodes_featureids"), f.targets = n.integer("n_targets", 1);
  if (!split || !modes || !leaf || (split->dtype != kF32 && split->dtype != kF64) || leaf->dtype != split->dtype || modes->dtype != kU8)
    return refuse("attributes nodes_splits, nodes_modes and leaf_weights, wanted tensors of float or double, of uint8, and of the first's type");
  f.type = split->dtype;
  const auto numbers_of = [&](const AttributeTensor& t) {
    std::vector<double> out;
    const size_t width = t.dtype == kF64 ? 8 : 4;
    for (size_t at = 0; at + width <= t.bytes.size(); at += width) {
      double wide = 0;
      float narrow = 0;
      if (width == 8) std::memcpy(&wide, t.bytes.data() + at, 8);
      else std::memcpy(&narrow, t.bytes.data() + at, 4), wide = static_cast<double>(narrow);
      out.push_back(wide);
    }
    return out;
  };
  f.limit = numbers_of(*split);
  const std::vector<double> weights = numbers_of(*leaf);
  const size_t inner = f.feature.size(), leaves = weights.size();
  for (const auto& [name, size] : {std::pair{"nodes_splits", f.limit.size()}, {"nodes_modes", modes->bytes.size()}, {"nodes_truenodeids", yes.size()}, {"nodes_falsenodeids", no.size()},
                                   {"nodes_trueleafs", yes_leaf.size()}, {"nodes_falseleafs", no_leaf.size()}})
    if (size != inner) return refuse(cat("attribute ", name, " has ", size, " elements, wanted those of ", inner, " nodes, as nodes_featureids"));
  if (of_target.size() != leaves || leaves == 0) return refuse(cat("attribute leaf_targetids has ", of_target.size(), " elements, wanted those of ", leaves, " leaves"));
  const size_t count = inner + leaves;
  if (f.targets < 1 || static_cast<int64_t>(count) > kMostWeights / f.targets) return refuse(cat(count, " nodes of ", f.targets, " targets are too many"));
  for (const int64_t root : f.roots)
    if (root < 0 || root >= static_cast<int64_t>(inner)) return refuse(cat("attribute tree_roots has ", root, ", wanted a node below ", inner));
  if (f.roots.empty()) return refuse("attribute tree_roots is empty, wanted a tree at least");
  f.limit.resize(count, 0), f.feature.resize(count, 0), f.members.resize(count);
  f.mode.assign(count, kLeaf), f.track.assign(count, 0), f.weights.assign(count * static_cast<size_t>(f.targets), 0), f.weighted.assign(f.weights.size(), 0);
  const std::vector<double> members = sets ? numbers_of(*sets) : std::vector<double>();
  size_t member = 0;
  for (size_t k = 0; k < inner; ++k) {
    const auto child = [&](int64_t id, int64_t is_leaf) -> int64_t { return id < 0 || id >= static_cast<int64_t>(is_leaf ? leaves : inner) ? -1 : is_leaf ? id + static_cast<int64_t>(inner) : id; };
    f.yes.push_back(child(yes[k], yes_leaf[k])), f.no.push_back(child(no[k], no_leaf[k]));
    f.mode[k] = static_cast<uint8_t>(modes->bytes[k]);
    if (f.yes[k] < 0 || f.no[k] < 0 || f.mode[k] > kMember || f.feature[k] < 0) return refuse(cat("node ", k, " has a child, mode or feature that is not there"));
    f.track[k] = k < track.size() && track[k] == 1;
    // Sets stand one after the other in the order of their nodes, each ended by what is no number.
    for (; f.mode[k] == kMember && member < members.size() && !std::isnan(members[member]); ++member) f.members[k].push_back(members[member]);
    member += f.mode[k] == kMember;
  }
  for (size_t k = 0; k < leaves; ++k) {
    f.yes.push_back(static_cast<int64_t>(inner + k)), f.no.push_back(static_cast<int64_t>(inner + k));
    if (of_target[k] < 0 || of_target[k] >= f.targets) return refuse(cat("attribute leaf_targetids has ", of_target[k], ", wanted a target below ", f.targets));
    const size_t cell = (inner + k) * static_cast<size_t>(f.targets) + static_cast<size_t>(of_target[k]);
    f.weights[cell] = weights[k], f.weighted[cell] = 1;
  }
  return true;
}

}  // namespace

Text tree_ensemble(Contributed& n) {
  constexpr std::array kAggregates{"AVERAGE", "SUM", "MIN", "MAX"};
  constexpr std::array kTransforms{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const int64_t aggregate = n.integer("aggregate_function", 1), how = n.integer("post_transform", 0);
  if (aggregate < 0 || aggregate > 3 || how < 0 || how > 4) return n.refuse(cat("attributes aggregate_function and post_transform are ", aggregate, " and ", how, ", wanted 0 to 3 and 0 to 4"));
  Forest f;
  if (!read_tensors(n, f)) return "";
  const std::vector<int64_t> heights = walkable(n, f);
  if (heights.empty()) return "";
  const Text transform = f.targets == 1 && how != 4 ? "NONE" : kTransforms[static_cast<size_t>(how)];
  const Text last = f.type == kF64 ? cat(to_floats(f), transformed(transform, "z", "sf"), "Y = CastLike(z, s) ") : transformed(transform, "Y", "s");
  return cat("(X) => (Y) { ", samples(n, "x", "X", f.type), summed(n, f, heights, kAggregates[static_cast<size_t>(aggregate)], {}), transform == "NONE" ? "Y = Identity(s) " : last, "}");
}

}  // namespace optima::onnx_io::recipes
