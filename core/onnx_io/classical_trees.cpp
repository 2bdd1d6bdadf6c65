// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: recipes of ai.onnx.ml: TreeEnsembleRegressor, TreeEnsembleClassifier, TreeEnsemble. All trees of all samples walk at once, one
// level per step: where each is [N, trees] -> its feature, limit and children by Gather, what holds by a comparison, the next by Where. Leaves
// are their own children, so shallow trees wait there.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/onnx_io/classical.hpp"

namespace optima::onnx_io::recipes {
namespace {

enum Mode : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };

/// Nodes of all trees, by number; a leaf is its own children.
struct Forest {
  int32_t type = kF32;                 ///< of comparisons and weights
  std::vector<uint8_t> mode, track;    ///< track: a feature that is no number holds
  std::vector<int64_t> feature, yes, no, roots;
  std::vector<double> limit;
  std::vector<std::vector<double>> members;  ///< of kMember nodes
  std::vector<double> weights;         ///< [nodes, targets]
  std::vector<uint8_t> weighted;       ///< [nodes, targets]
  int64_t targets = 0;
  int64_t size() const { return static_cast<int64_t>(mode.size()); }
};

constexpr int64_t kMostLevels = 1000, kMostWeights = int64_t{1} << 28;

Mode mode_of(const std::string& name) {
  static const std::map<std::string, Mode> known{{"BRANCH_LEQ", kLeq}, {"BRANCH_LT", kLt}, {"BRANCH_GTE", kGte}, {"BRANCH_GT", kGt}, {"BRANCH_EQ", kEq}, {"LEAF", kLeaf}};
  const auto at = known.find(name);
  return at == known.end() ? kNeq : at->second;
}

/// A constant of the forest's type.
Text reals(Contributed& n, const Forest& f, const char* name, const std::vector<double>& values, const Dims& dims) {
  if (f.type == kF64) return table(n, name, kF64, dims, values);
  return floats(n, name, std::vector<float>(values.begin(), values.end()), dims);
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

/// Levels of the deepest tree, -1 where a tree runs in a circle or has too many. Subtrees may be shared.
int64_t levels(const Forest& f) {
  constexpr int64_t kNew = -1, kOpen = -2;
  std::vector<int64_t> height(f.mode.size(), kNew), stack(f.roots);
  int64_t deepest = 0;
  while (!stack.empty()) {
    const auto at = static_cast<size_t>(stack.back());
    const int64_t before = height[at], yes = height[static_cast<size_t>(f.yes[at])], no = height[static_cast<size_t>(f.no[at])];
    if (f.mode[at] == kLeaf) height[at] = 0;
    if (height[at] >= 0) {
      stack.pop_back();
    } else if (before == kOpen) {
      if (yes < 0 || no < 0) return -1;
      height[at] = 1 + std::max(yes, no);
      deepest = std::max(deepest, height[at]);
    } else {
      height[at] = kOpen;
      if (yes == kOpen || no == kOpen) return -1;
      stack.insert(stack.end(), {f.yes[at], f.no[at]});
    }
  }
  return deepest > kMostLevels ? -1 : deepest;
}

/// The levels to walk; -1 after a refusal of trees that nobody can walk.
int64_t walkable(Contributed& n, const Forest& f) {
  const auto dims = n.dims(0);
  const int64_t features = dims && !dims->empty() ? dims->back() : -1, last = *std::max_element(f.feature.begin(), f.feature.end());
  const int64_t depth = levels(f);
  if (depth < 0) n.refuse(cat("a tree runs in a circle, or has over ", kMostLevels, " levels"));
  if (features >= 0 && last >= features) n.refuse(cat("attribute nodes_featureids has ", last, ", the input has ", features, " features"));
  return n.refusal().empty() ? depth : -1;
}

/// What is known of a place of the walk: constants of all nodes, gathered, or of the roots at the first step.
class Walk {
 public:
  Walk(Contributed& n, const Forest& f) : n_(n), f_(f) {
    for (const uint8_t mode : f.mode) modes_.insert(mode);
    modes_.erase(kLeaf);
    tracked_ = std::any_of(f.track.begin(), f.track.end(), [](uint8_t t) { return t != 0; });
    for (const auto& m : f.members) widest_ = std::max(widest_, m.size());
  }

  /// Steps that leave the leaves' numbers [N, trees] in `leaf`. x is [N, F].
  Text text(int64_t depth) {
    tables("", nodes());
    tables("r_", f_.roots);
    Text out = step("s0_", "r_", "", depth <= 1 ? "leaf" : "at0");
    for (int64_t k = 1; k < depth; ++k) out += step(cat("s", k, "_"), "", cat("at", k - 1), k + 1 == depth ? "leaf" : cat("at", k));
    return out;
  }

 private:
  std::vector<int64_t> nodes() const {
    std::vector<int64_t> all;
    for (int64_t k = 0; k < f_.size(); ++k) all.push_back(k);
    return all;
  }
  template <class T>
  static std::vector<T> at(const std::vector<T>& values, const std::vector<int64_t>& which) {
    std::vector<T> out;
    for (const int64_t k : which) out.push_back(values[static_cast<size_t>(k)]);
    return out;
  }
  /// Constants "PREFIXfeature" and so on, of the nodes `which`.
  void tables(const Text& prefix, const std::vector<int64_t>& which) {
    const Dims flat = sizes(which);
    const auto name = [&](const char* what) { return prefix + what; };
    integers(n_, name("feature").c_str(), at(f_.feature, which), flat);
    integers(n_, name("yes").c_str(), at(f_.yes, which), flat);
    integers(n_, name("no").c_str(), at(f_.no, which), flat);
    reals(n_, f_, name("limit").c_str(), at(f_.limit, which), flat);
    if (tracked_) table(n_, name("track").c_str(), kBool, flat, at(f_.track, which));
    if (modes_.size() > 1)
      for (const uint8_t mode : modes_) {
        std::vector<uint8_t> is;
        for (const int64_t k : which) is.push_back(f_.mode[static_cast<size_t>(k)] == mode);
        table(n_, name(cat("is", static_cast<int>(mode)).c_str()).c_str(), kBool, flat, is);
      }
    if (widest_ == 0) return;
    std::vector<double> members(which.size() * widest_, std::numeric_limits<double>::quiet_NaN());
    for (size_t k = 0; k < which.size(); ++k)
      std::copy(f_.members[static_cast<size_t>(which[k])].begin(), f_.members[static_cast<size_t>(which[k])].end(), members.begin() + static_cast<int64_t>(k * widest_));
    reals(n_, f_, name("members").c_str(), members, {flat[0], static_cast<int64_t>(widest_)});
  }
  Text comparison(const Text& p, uint8_t mode, const Text& out) const {
    const Text both = cat("(", p, "x, ", p, "limit) ");
    switch (mode) {
      case kLeq: return cat(out, " = LessOrEqual", both);
      case kLt: return cat(out, " = Less", both);
      case kGte: return cat(out, " = GreaterOrEqual", both);
      case kGt: return cat(out, " = Greater", both);
      case kEq: return cat(out, " = Equal", both);
      case kNeq: return cat(p, "same = Equal", both, out, " = Not(", p, "same) ");
      default:
        return cat(p, "last = Constant <value_ints = [-1]> () ", p, "xm = Unsqueeze(", p, "x, ", p, "last) ", p, "hit = Equal(", p, "xm, ", p, "members) ", p,
                   "hits = Cast <to = ", kI32, "> (", p, "hit) ", p, "any = ReduceMax <keepdims = 0> (", p, "hits, ", p, "last) ", out, " = Cast <to = ", kBool, "> (", p, "any) ");
    }
  }
  /// One level: `from` is where the trees are, empty at the roots.
  Text step(const Text& p, const Text& tables, const Text& from, const Text& to) const {
    std::vector<Text> wanted{"limit", "yes", "no"};
    if (tracked_) wanted.push_back("track");
    if (modes_.size() > 1)
      for (const uint8_t mode : modes_) wanted.push_back(cat("is", static_cast<int>(mode)));
    if (widest_ > 0) wanted.push_back("members");
    Text out;
    for (const Text& what : wanted) out += from.empty() ? cat(p, what, " = Identity(", tables, what, ") ") : cat(p, what, " = Gather(", what, ", ", from, ") ");
    out += from.empty() ? cat(p, "x = Gather <axis = 1> (x, ", tables, "feature) ")
                        : cat(p, "feature = Gather(feature, ", from, ") ", p, "x = GatherElements <axis = 1> (x, ", p, "feature) ");
    Text holds;
    for (const uint8_t mode : modes_.empty() ? std::set<uint8_t>{kLeq} : modes_) {
      const Text id = cat(p, "c", static_cast<int>(mode));
      out += comparison(p, mode, id);
      Text one = id;
      if (modes_.size() > 1) {
        one = id + "m";
        out += cat(one, " = And(", id, ", ", p, "is", static_cast<int>(mode), ") ");
      }
      if (!holds.empty()) {
        out += cat(id, "o = Or(", holds, ", ", one, ") ");
        one = id + "o";
      }
      holds = one;
    }
    if (tracked_) {
      out += cat(p, "nan = IsNaN(", p, "x) ", p, "nt = And(", p, "nan, ", p, "track) ", p, "ht = Or(", holds, ", ", p, "nt) ");
      holds = p + "ht";
    }
    return out + cat(to, " = Where(", holds, ", ", p, "yes, ", p, "no) ");
  }

  Contributed& n_;
  const Forest& f_;
  std::set<uint8_t> modes_;
  bool tracked_ = false;
  size_t widest_ = 0;
};

/// s [N, targets]: what the trees' leaves have for each target, by `aggregate` (SUM, AVERAGE, MIN, MAX), plus `base` where it is not empty.
Text summed(Contributed& n, const Forest& f, int64_t depth, const Text& aggregate, const std::vector<double>& base) {
  Walk walk(n, f);
  Text out = walk.text(depth);
  std::vector<double> weights = f.weights;
  const bool least = aggregate == "MIN", most = aggregate == "MAX";
  for (size_t k = 0; k < weights.size() && (least || most); ++k)
    if (!f.weighted[k]) weights[k] = least ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  const bool single = f.targets == 1;
  const Text w = reals(n, f, "weights", weights, single ? Dims{f.size()} : Dims{f.size(), f.targets});
  const Text keep = single ? "1" : "0", op = least ? "ReduceMin" : most ? "ReduceMax" : "ReduceSum";
  out += cat("leaves = Gather(", w, ", leaf) trees = Constant <value_ints = [1]> () t = ", op, " <keepdims = ", keep, "> (leaves, trees) ");
  Text last = "t";
  if (aggregate == "AVERAGE") {
    out += cat("ta = Div(t, ", reals(n, f, "count", {static_cast<double>(f.roots.size())}, {}), ") ");
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
  const int64_t depth = walkable(n, f);
  if (depth < 0) return "";
  return cat(samples(n, "x", "X", f.type), summed(n, f, depth, aggregate, base));
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
  const int64_t depth = walkable(n, f);
  if (depth < 0) return "";
  const Text transform = f.targets == 1 && how != 4 ? "NONE" : kTransforms[static_cast<size_t>(how)];
  const Text last = f.type == kF64 ? cat(to_floats(f), transformed(transform, "z", "sf"), "Y = CastLike(z, s) ") : transformed(transform, "Y", "s");
  return cat("(X) => (Y) { ", samples(n, "x", "X", f.type), summed(n, f, depth, kAggregates[static_cast<size_t>(aggregate)], {}), transform == "NONE" ? "Y = Identity(s) " : last, "}");
}

}  // namespace optima::onnx_io::recipes
