// SPDX-License-Identifier: Apache-2.0
// reference/shapes: a whole graph. Knows Shape, Size and If by name, the rest by rule.
#include <algorithm>
#include <cstring>
#include <optional>

#include "optima/plugin/reads.hpp"
#include "reference/ops/ops.hpp"
#include "reference/ops/table.hpp"
#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace {

constexpr int64_t kSmall = 1024;  // elements that are computed on the way

bool is_small(const Tensor& t) {
  int64_t n = 1;
  for (int64_t d : t.dims) n = d > kSmall ? kSmall + 1 : std::min(n * d, kSmall + 1);
  return n <= kSmall;
}

bool empty(const Tensor& t) {
  for (int64_t d : t.dims)
    if (d == 0) return true;
  return false;
}

bool elements_known(const Tensor& t) { return t.data || empty(t); }

using sdk::each_output;

/// Type, dims and, where they are known, elements.
bool alike(const Tensor& a, const Tensor& b) {
  if (a.dtype != b.dtype || a.dims != b.dims || !a.data != !b.data) return false;
  return a.data == b.data || (a.size == b.size && a.dtype != OPTIMA_STRING && std::memcmp(a.data, b.data, a.size) == 0);
}

ShapeWalk::Change change(const Tensor& from, const Tensor& to) {
  if (alike(from, to)) return ShapeWalk::Change::None;
  const bool same = from.dtype == to.dtype && from.dims.size() == to.dims.size() && elements_known(from) == elements_known(to);
  return same ? ShapeWalk::Change::Numbers : ShapeWalk::Change::Kind;
}

/// alike() ones have one; of long ones the beginning decides.
uint64_t hash_of(const Tensor& t) {
  uint64_t hash = mixed(t.data != nullptr, static_cast<uint64_t>(t.dtype));
  for (const int64_t d : t.dims) hash = mixed(hash, static_cast<uint64_t>(d));
  if (!t.data || t.dtype == OPTIMA_STRING) return hash;
  uint64_t word = 0;
  for (uint64_t at = 0; at < std::min<uint64_t>(t.size, 256); at += sizeof word, hash = mixed(hash, word), word = 0)
    std::memcpy(&word, static_cast<const char*>(t.data) + at, std::min<uint64_t>(sizeof word, t.size - at));
  return hash;
}

/// With its elements when they are few and there; weights are not touched, and may lie anywhere.
Tensor shape_of_constant(const optima_graph& graph, uint32_t index) {
  const optima_constant* c = optima_get_constant(graph.image, index);
  Tensor t;
  t.dtype = c->dtype;
  for (uint32_t k = 0; k < c->dims.count; ++k) t.dims.push_back(*optima_get_int(graph.image, c->dims.first + k));
  const bool there = c->blob < graph.blob_count && optima_get_blob(&graph, c->blob)->data;
  return there && is_small(t) ? constant(graph, index) : t;
}

}  // namespace

ShapeWalk::ShapeWalk(const optima_graph& graph) : graph_(&graph) {
  const optima_image* image = graph.image;
  about_.resize(image->nodes.count);
  const std::vector<uint32_t> kinds = kinds_of(graph, true);
  for (uint32_t n = 0; n < image->nodes.count; ++n) {
    const optima_node& node = *optima_get_node(image, n);
    const Row* row = find_row(image, node);
    const Rule* rule = rule_of(graph, node);
    const std::string_view op = row ? row->sig.name : std::string_view();
    about_[n] = {rule, op == "Shape" ? Kind::Shape : op == "Size" ? Kind::Size : op == "If" ? Kind::If
                     : !row || op == "Loop" || op == "Scan" || ops::is_random(op, node.inputs.count) ? Kind::Opaque : Kind::Plain, kinds[n]};
  }
  values_.resize(image->values.count);
  begin_pass();
  for (uint32_t v = 0; v < image->values.count; ++v)
    if (const uint32_t c = optima_get_value(image, v)->constant; c != OPTIMA_NONE) put(v, shape_of_constant(graph, c));
  restart();
}

void ShapeWalk::restart() {
  for (uint32_t v = 0; v < values_.size(); ++v)
    if (optima_get_value(graph_->image, v)->constant == OPTIMA_NONE) values_[v] = nullptr;
  const optima_image_graph& g = *optima_get_graph(graph_->image, 0);
  open_.resize(g.nodes.count);
  for (uint32_t n = 0; n < g.nodes.count; ++n) open_[n] = g.nodes.first + n;
  stops_.clear();
  branches_.clear();
}

const Tensor& ShapeWalk::at(uint32_t value) const {
  static const Tensor nothing;
  return values_[value] ? *values_[value] : nothing;
}

/// As one Tensor with a value of which the same is known. Borrowed elements stay with the value that they were given for.
void ShapeWalk::put(uint32_t value, Tensor known) {
  const auto is = [&](uint32_t v) { return v != value && values_[v] && alike(*values_[v], known); };
  const bool is_lent = known.data && !known.keeper && optima_get_value(graph_->image, value)->constant == OPTIMA_NONE;
  const uint32_t same = is_lent ? value : tensors_.find_or_put(hash_of(known), value, is);
  values_[value] = same == value ? std::make_shared<const Tensor>(std::move(known)) : values_[same];
}

void ShapeWalk::give(uint32_t value, Tensor known) { put(value, std::move(known)); }

void ShapeWalk::begin_pass() {
  tensors_.clear(values_.size());
  made_.clear(about_.size());
}

bool ShapeWalk::read_the_same(const optima_node& a, const optima_node& b) const {
  for (uint32_t k = 0; k < a.inputs.count; ++k) {
    const uint32_t v = optima_input(graph_->image, &a, k), w = optima_input(graph_->image, &b, k);
    if (v != w && (v == OPTIMA_NONE || w == OPTIMA_NONE || values_[v] != values_[w])) return false;
  }
  return true;
}

/// A node that was looked at in this pass and comes to the same as this one, of whose outputs nothing is known: it is of one kind, and all that is known of
/// their inputs is the same. None: this one, if all its inputs are known of, is found by those that come.
uint32_t ShapeWalk::done_before(uint32_t node) {
  const optima_node& n = *optima_get_node(graph_->image, node);
  uint64_t hash = about_[node].number;
  for (uint32_t k = 0; k < n.inputs.count; ++k) {
    const uint32_t v = optima_input(graph_->image, &n, k);
    if (v != OPTIMA_NONE && !values_[v]) return OPTIMA_NONE;
    hash = mixed(hash, v == OPTIMA_NONE ? 0 : reinterpret_cast<uintptr_t>(values_[v].get()));
  }
  bool is_new = true;
  each_output(*graph_, n, [&](uint32_t, uint32_t v) { is_new = is_new && !values_[v]; });
  if (!is_new) return OPTIMA_NONE;
  const uint32_t found = made_.find_or_put(hash, node, [&](uint32_t other) {
    const optima_node& o = *optima_get_node(graph_->image, other);
    return about_[other].number == about_[node].number && read_the_same(n, o) && shapes_known(o);
  });
  return found == node ? OPTIMA_NONE : found;
}

void ShapeWalk::advance() {
  begin_pass();
  stops_.clear();
  branches_.clear();
  size_t left = 0;
  for (size_t k = 0; k < open_.size(); ++k) {
    const uint32_t node = open_[k];
    uint32_t wants = OPTIMA_NONE;
    const Outcome o = step(node, wants);
    if (o == Outcome::Stopped) stops_.push_back({node, wants});
    if (o != Outcome::Settled) open_[left++] = node;
  }
  open_.resize(left);
}

bool ShapeWalk::again(const std::vector<Given>& given, std::vector<Change>& changed) {
  begin_pass();
  std::vector<bool> is_given;
  if (!give_again(given, is_given, changed)) return false;
  const optima_image_graph& g = *optima_get_graph(graph_->image, 0);
  std::vector<uint32_t> open;
  for (uint32_t n = g.nodes.first, k = 0; n < g.nodes.first + g.nodes.count; ++n) {
    bool is_open = k < open_.size() && open_[k] == n;
    k += is_open;
    if (reads_changed(*optima_get_node(graph_->image, n), changed)) {
      const auto at = std::find_if(stops_.begin(), stops_.end(), [n](const Stop& s) { return s.node == n; });
      const std::optional<Stop> stop = at == stops_.end() ? std::nullopt : std::optional(*at);
      if (!stop || !waits(*stop)) {
        uint32_t wants = OPTIMA_NONE;
        const Outcome o = step_again(n, is_given, wants, changed);
        if ((o == Outcome::Stopped) != stop.has_value() || (stop && wants != stop->wants)) return false;
        is_open = o != Outcome::Settled;
      }
    }
    if (is_open) open.push_back(n);
  }
  open_ = std::move(open);
  return branches_hold(changed);
}

/// False where something else is given now for a value of a branch.
bool ShapeWalk::give_again(const std::vector<Given>& given, std::vector<bool>& is_given, std::vector<Change>& changed) {
  const optima_slice& values = optima_get_graph(graph_->image, 0)->values;
  changed.assign(values_.size(), Change::None), is_given.assign(values_.size(), false);
  for (const Given& g : given) {
    is_given[g.value] = true;
    changed[g.value] = change(at(g.value), g.tensor);
    if (changed[g.value] == Change::None) continue;
    if (g.value - values.first >= values.count) return false;
    put(g.value, g.tensor);
  }
  return true;
}

/// Whether the elements that stopped a node are still not known.
bool ShapeWalk::waits(const Stop& stop) const {
  return stop.wants != OPTIMA_NONE && !has_elements(optima_input(graph_->image, optima_get_node(graph_->image, stop.node), stop.wants));
}

/// Whether each is taken still, and sees what it saw.
bool ShapeWalk::branches_hold(const std::vector<Change>& changed) const {
  return std::none_of(branches_.begin(), branches_.end(), [&](const Branch& b) {
    const optima_image_graph& body = *optima_get_graph(graph_->image, b.graph);
    bool any = reads_changed(*optima_get_node(graph_->image, b.node), changed);
    for (uint32_t k = 0; k < body.captures.count && !any; ++k) any = changed[optima_get_capture(graph_->image, body.captures.first + k)->outer] != Change::None;
    return any;
  });
}

bool ShapeWalk::reads_changed(const optima_node& node, const std::vector<Change>& changed) const {
  bool any = false;
  for (uint32_t k = 0; k < node.inputs.count && !any; ++k) {
    const uint32_t v = optima_input(graph_->image, &node, k);
    any = v != OPTIMA_NONE && changed[v] != Change::None;
  }
  return any;
}

ShapeWalk::Outcome ShapeWalk::step_again(uint32_t node, const std::vector<bool>& is_given, uint32_t& wants, std::vector<Change>& changed) {
  const optima_node& n = *optima_get_node(graph_->image, node);
  before_.clear();
  each_output(*graph_, n, [&](uint32_t, uint32_t v) { before_.push_back(is_given[v] ? values_[v] : std::exchange(values_[v], nullptr)); });
  const Outcome o = step(node, wants);
  size_t k = 0;
  each_output(*graph_, n, [&](uint32_t, uint32_t v) {
    static const Tensor nothing;
    const Known& was = before_[k++];
    if (is_given[v]) return;
    changed[v] = change(was ? *was : nothing, at(v));
    if (changed[v] == Change::None) values_[v] = was;
  });
  return o;
}

/// Shapes of the outputs are known, and no small one waits for its elements.
bool ShapeWalk::settled(const optima_node& node) const {
  bool all = true;
  each_output(*graph_, node, [&](uint32_t, uint32_t v) { all = all && has_shape(v) && (elements_known(at(v)) || !is_small(at(v))); });
  return all;
}

bool ShapeWalk::shapes_known(const optima_node& node) const {
  bool all = true;
  each_output(*graph_, node, [&](uint32_t, uint32_t v) { all = all && has_shape(v); });
  return all;
}

/// inputs_ of the node; false when a shape is not known.
bool ShapeWalk::collect(const optima_node& node) {
  inputs_.resize(node.inputs.count);
  for (uint32_t k = 0; k < node.inputs.count; ++k) {
    const uint32_t v = optima_input(graph_->image, &node, k);
    if (v == OPTIMA_NONE) inputs_[k] = Tensor();
    else if (!has_shape(v)) return false;
    else inputs_[k] = at(v);
  }
  return true;
}

ShapeWalk::Outcome ShapeWalk::step(uint32_t node, uint32_t& wants) {
  const optima_node& n = *optima_get_node(graph_->image, node);
  if (settled(n) && about_[node].kind != Kind::If) return Outcome::Settled;
  if (about_[node].kind == Kind::If) return collect(n) ? take_branch(node, wants) : Outcome::Open;
  if (!shapes_known(n)) {
    if (const uint32_t other = done_before(node); other != OPTIMA_NONE) {
      const optima_node& o = *optima_get_node(graph_->image, other);
      each_output(*graph_, n, [&](uint32_t k, uint32_t v) { values_[v] = values_[optima_output(graph_->image, &o, k)]; });
      return settled(n) ? Outcome::Settled : Outcome::Open;
    }
    if (!collect(n)) return Outcome::Open;
    const Outcome o = infer(node, wants);
    if (o != Outcome::Settled || settled(n)) return o;
  }
  if (foldable(node, n) && collect(n) && fold(node, n)) return Outcome::Settled;
  return Outcome::Open;  // a small output whose elements may be known later
}

/// Elements of input k when it is a constant that lies somewhere.
bool ShapeWalk::read_constant(const optima_node& node, uint32_t k) {
  const uint32_t v = optima_input(graph_->image, &node, k), c = optima_get_value(graph_->image, v)->constant;
  if (c == OPTIMA_NONE) return false;
  const uint32_t blob = optima_get_constant(graph_->image, c)->blob;
  if (blob >= graph_->blob_count || !optima_get_blob(graph_, blob)->data) return false;
  inputs_[k] = constant(*graph_, c);
  put(v, inputs_[k]);
  return true;
}

ShapeWalk::Outcome ShapeWalk::infer(uint32_t node, uint32_t& wants) {
  const optima_node& n = *optima_get_node(graph_->image, node);
  Inference made = infer_shapes(*graph_, n, inputs_, about_[node].rule);
  while (made.wants != OPTIMA_NONE && read_constant(n, made.wants)) made = infer_shapes(*graph_, n, inputs_, about_[node].rule);
  if (made.data_decides) return (foldable(node, n) && fold(node, n)) || declared(n) ? Outcome::Settled : Outcome::Stopped;
  wants = made.wants;
  if (wants != OPTIMA_NONE) return Outcome::Stopped;
  each_output(*graph_, n, [&](uint32_t k, uint32_t v) {
    if (has_shape(v)) return;  // the caller has given it
    Tensor t;
    t.dtype = made.outputs[k].dtype, t.dims = std::move(made.outputs[k].dims);
    put(v, std::move(t));
  });
  return Outcome::Settled;
}

/// All it reads is known and small, and so is what it makes, as far as that is known.
bool ShapeWalk::foldable(uint32_t node, const optima_node& n) const {
  const Kind kind = about_[node].kind;
  if (kind == Kind::Shape || kind == Kind::Size) return n.inputs.count > 0 && optima_input(graph_->image, &n, 0) != OPTIMA_NONE;
  if (kind != Kind::Plain) return false;
  for (uint32_t k = 0; k < n.inputs.count; ++k) {
    const uint32_t v = optima_input(graph_->image, &n, k);
    if (v != OPTIMA_NONE && !(has_shape(v) && elements_known(at(v)) && is_small(at(v)))) return false;
  }
  bool small = true;
  each_output(*graph_, n, [&](uint32_t, uint32_t v) { small = small && (!has_shape(v) || is_small(at(v))); });
  return small;
}

/// What Shape and Size give: of the shape of their input alone.
Tensor ShapeWalk::measure(Kind kind, const optima_node& n) const {
  const Dims& d = inputs_[0].dims;
  if (kind == Kind::Size) return make_ints({}, {count(d)});
  static const Lookup nowhere;
  static const Foreign nobody;
  const auto [begin, end] = shapes::shape_part(Call(*graph_, n, inputs_, nowhere, nobody));
  return make_ints({end - begin}, Dims(d.begin() + begin, d.begin() + end));
}

/// Computes a foldable node. What the reference refuses is left to who runs the node, and says why.
bool ShapeWalk::fold(uint32_t node, const optima_node& n) {
  const Kind kind = about_[node].kind;
  if (kind != Kind::Plain) {
    put(optima_output(graph_->image, &n, 0), measure(kind, n));
    return true;
  }
  try {
    std::vector<Tensor> made = evaluate(*graph_, n, inputs_);
    each_output(*graph_, n, [&](uint32_t k, uint32_t v) { put(v, std::move(made[k])); });
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// What the graph says where only running tells, if it says numbers.
bool ShapeWalk::declared(const optima_node& node) {
  bool all = true;
  each_output(*graph_, node, [&](uint32_t, uint32_t v) {
    if (!all || has_shape(v)) return;
    const optima_value* value = optima_get_value(graph_->image, v);
    Dims dims;
    for (uint32_t d = 0; d < value->dims.count; ++d) dims.push_back(optima_get_dim(graph_->image, value->dims.first + d)->value);
    all = value->rank >= 0 && value->dtype != OPTIMA_UNDEFINED && std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; });
    if (!all) return;
    Tensor t;
    t.dtype = value->dtype, t.dims = std::move(dims);
    put(v, std::move(t));
  });
  return all;
}

namespace {

/// The body that an If of known condition takes.
uint32_t taken_body(const optima_graph& graph, const optima_node& n, const std::vector<Tensor>& inputs) {
  static const Lookup nowhere;
  static const Foreign nobody;
  const Call call(graph, n, inputs, nowhere, nobody);
  try {
    return call.body(call.scalar(0, "cond") != 0 ? "then_branch" : "else_branch");
  } catch (const Error& e) {
    throw Error(e.code, name_of(graph, n) + ": " + e.text, n.id);
  }
}

}  // namespace

ShapeWalk::Outcome ShapeWalk::take_branch(uint32_t node, uint32_t& wants) {
  const optima_node& n = *optima_get_node(graph_->image, node);
  if (inputs_.empty()) return Outcome::Stopped;
  if (!elements_known(inputs_[0])) {
    wants = 0;
    return Outcome::Stopped;
  }
  const uint32_t body = taken_body(*graph_, n, inputs_);
  branches_.push_back({node, body});
  const optima_image_graph& g = *optima_get_graph(graph_->image, body);
  for (uint32_t k = 0; k < g.captures.count; ++k) {
    const optima_capture* c = optima_get_capture(graph_->image, g.captures.first + k);
    if (!elements_known(at(c->inner))) values_[c->inner] = values_[c->outer];  // a stop in the body may have been told them
  }
  for (uint32_t k = 0; k < g.nodes.count; ++k) {
    uint32_t inner = OPTIMA_NONE;
    if (step(g.nodes.first + k, inner) == Outcome::Stopped) stops_.push_back({g.nodes.first + k, inner});
  }
  each_output(*graph_, n, [&](uint32_t k, uint32_t v) {
    if (k >= g.outputs.count) return;
    const Known& made = values_[*optima_get_index(graph_->image, g.outputs.first + k)];
    if (!elements_known(at(v)) && made && made->dtype != OPTIMA_UNDEFINED) values_[v] = made;
  });
  return Outcome::Open;  // so that the branch is told again
}

}  // namespace optima::reference
