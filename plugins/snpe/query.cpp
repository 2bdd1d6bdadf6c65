// SPDX-License-Identifier: Apache-2.0
#include "query.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "info.hpp"
#include "limits.hpp"
#include "optima/plugin/checksum.hpp"
#include "optima/plugin/cut.hpp"
#include "optima/plugin/fixed.hpp"
#include "question.hpp"

namespace snpe_plugin {
namespace {

constexpr int kRounds = 4;  // of asking about what is left after nodes were refused

bool has_word(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); at != words.npos; at = words.find(word, at + 1))
    if ((at == 0 || words[at - 1] == ' ') && (at + word.size() == words.size() || words[at + word.size()] == ' ')) return true;
  return false;
}

bool covers(const sdk::Op& op, std::string_view kind) { return op.kinds.empty() || has_word(op.kinds, kind); }

/// Rows of other kinds do not count.
sdk::Verdict judge_row(const sdk::Node& n, std::string_view kind) {
  std::string others;
  for (const sdk::Op& op : kInfo.operators)
    if (op.name == n.op() && op.domain == n.domain()) {
      if (covers(op, kind)) return sdk::judge(op, n);
      others = op.kinds;
    }
  if (others.empty()) return sdk::judge(kInfo.operators, n);
  std::replace(others.begin(), others.end(), ' ', ',');
  sdk::Verdict v = sdk::Verdict::refused(n, OPTIMA_REASON_OP, "operator " + std::string(n.op()) + " is not computed by " + std::string(kind) + ", but by " + others);
  v.what = "operator", v.found = std::string(n.op());
  return v;
}

bool is_coder(const sdk::Node& n) { return n && n.domain().empty() && (n.op() == "QuantizeLinear" || n.op() == "DequantizeLinear"); }

sdk::Verdict judge(const sdk::Node& n, const Target& target) {
  sdk::Verdict v = judge_row(n, target.kind);
  if (!v.yes()) {
    if (v.reason == OPTIMA_REASON_DYNAMIC_SHAPE) v.text += "; " + sdk::option_that_fixes(n) + " would fix it";
    return v;
  }
  if (n.raw().graph != 0) return sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, "node is in a body, these processors take none");
  const int32_t reason = is_coder(n) ? OPTIMA_REASON_QUANT : OPTIMA_REASON_OTHER;
  if (const std::string why = not_computed(n, target); !why.empty()) return sdk::Verdict::refused(n, reason, why);
  return v;
}

/// Why the tools refuse a node: of a quantized unit it is its codes as far as they tell.
class Reasons {
 public:
  explicit Reasons(const sdk::Graph& graph) {
    for (uint32_t k = 0; k < graph.size(); ++k)
      if (is_coder(graph[k])) coded_.insert(graph[k].input(0).index());
  }
  int32_t of(const sdk::Node& n) const {
    bool codes = is_coder(n);
    for (uint32_t k = 0; k < n.input_count(); ++k) codes = codes || (n.input(k) && is_coder(n.input(k).producer()));
    for (uint32_t k = 0; k < n.output_count(); ++k) codes = codes || (n.output(k) && coded_.count(n.output(k).index()) > 0);
    return codes ? OPTIMA_REASON_QUANT : OPTIMA_REASON_OTHER;
  }

 private:
  std::unordered_set<uint32_t> coded_;  // values
};

/// Without what it says after its reason of names that are only a question's: "...by QNN EP.Erf node `y/3` will not be assigned to QNN EP".
std::string without_names(std::string why) {
  const size_t tail = why.find("` will not be assigned to QNN EP");
  const size_t end = tail == why.npos ? why.npos : why.rfind('.', tail);
  return end == why.npos ? why : why.substr(0, end);
}

std::string no_sentence(const std::string& why, const Facts& facts, const Target& target) {
  const std::string who = target.kind + (target.socs.empty() ? "" : " " + std::string(target.socs[0]->name)) + " by " + facts.version;
  return why.empty() ? "not taken for " + who + ", which gives no reason" : without_names(why);
}

/// Errors of the tools that are about what they were asked, not about the tools.
bool is_answer(const sdk::Error& e) { return e.code == OPTIMA_UNSUPPORTED || e.code == OPTIMA_TOOL_FAILED || e.code == OPTIMA_TIMEOUT; }

class Asking {
 public:
  Asking(Toolchain& tools, const Target& target, const sdk::Host& host, Answers& answers, const sdk::CheckRequest& request)
      : tools_(tools), target_(target), host_(host), answers_(answers), graph_(request.graph()), task_(host, request.options(), {}) {
    const Facts& facts = tools.facts();
    whom_ = facts.route + "\n" + facts.version + "\n" + target.kind + " " + target.precision + (target.socs.empty() ? "" : " " + std::string(target.socs[0]->name)) + "\n";
  }

  /// An answer per node: each by itself, then those with a yes together, since neighbours change what becomes of a node.
  std::vector<Answer> operator()(const std::vector<sdk::Node>& nodes) {
    std::vector<Answer> out = apart(nodes);
    for (int round = 0; round < kRounds; ++round) {
      std::vector<size_t> yes;
      for (size_t k = 0; k < nodes.size(); ++k)
        if (out[k].taken) yes.push_back(k);
      std::vector<sdk::Node> together;
      for (size_t k : yes) together.push_back(nodes[k]);
      const std::vector<Answer> said = whole(together);
      bool changed = false;
      for (size_t k = 0; k < yes.size(); ++k)
        if (!said[k].taken) out[yes[k]] = said[k], changed = true;
      if (!changed) break;
    }
    return out;
  }

 private:
  /// The tools' word on the outputs of a written cut.
  std::unordered_map<std::string, Answer> assigned(const sdk::Cut& cut, std::string* digest) {
    const std::string folder = task_.folder("model" + std::to_string(count_++));
    host_.graph_to_onnx(sdk::Graph(cut.raw()), folder);
    if (digest) {
      *digest = whom_ + "whole";
      for (const char* file : {"/model.onnx", "/weights.bin"})
        if (std::filesystem::exists(folder + file)) add_sum(*digest, folder + file);
      if (auto known = answers_.find(*digest)) return {{"", *known}};
    }
    std::unordered_map<std::string, Answer> by_output;
    for (Taken& t : task_.guarded([&] { return tools_.assign(folder, target_, task_.bounds()); })) by_output[t.output] = {t.taken, std::move(t.why)};
    return by_output;
  }

  static void add_sum(std::string& digest, const std::string& path) {
    const sdk::Checksum sum = sdk::checksum_of_file(path);
    digest += " " + std::to_string(sum.size()) + ":" + std::to_string(sum.value());
  }

  static std::string first_output(const sdk::Node& n) {
    for (uint32_t k = 0; k < n.output_count(); ++k)
      if (n.output(k)) return std::string(n.output(k).name());
    return "";
  }

  /// What the tools leave out of their list they computed before or made one with a neighbour.
  static Answer of(const std::unordered_map<std::string, Answer>& by_output, const std::string& name) {
    const auto at = by_output.find(name);
    return at == by_output.end() ? Answer{true, ""} : at->second;
  }

  /// The sentence on a node that computes floats, for a chip that cannot; about codes around a node the tools are asked.
  std::string no_floats(const Piece& piece) const {
    const auto chip = std::find_if(target_.socs.begin(), target_.socs.end(), [](const Soc* s) { return !s->floats; });
    if (chip == target_.socs.end() || piece.nodes.size() > 1 || piece.asked.op() == "DequantizeLinear") return "";
    for (uint32_t k = 0; k < piece.asked.output_count(); ++k)
      if (const sdk::Value v = piece.asked.output(k); v && (v.dtype() == OPTIMA_F32 || v.dtype() == OPTIMA_F16))
        return std::string((*chip)->name) + " computes no floats, wanted a quantized model (--precision int8 --calib DATA) or another chip (snpe.soc)";
    return "";
  }

  std::vector<Answer> apart(const std::vector<sdk::Node>& nodes) {
    const std::vector<Piece> pieces = pieces_of(graph_, nodes);
    std::vector<std::string> questions;
    std::vector<size_t> open;
    for (size_t k = 0; k < pieces.size(); ++k) {
      questions.push_back(whom_ + signature(pieces[k]));
      if (!no_floats(pieces[k]).empty()) continue;
      const bool asked = std::find(questions.begin(), questions.end() - 1, questions[k]) != questions.end() - 1;
      if (!asked && !answers_.find(questions[k])) open.push_back(k);
    }
    ask_apart(pieces, questions, open);
    std::vector<Answer> out;
    for (size_t k = 0; k < pieces.size(); ++k) {
      const std::string why = no_floats(pieces[k]);
      out.push_back(why.empty() ? *answers_.find(questions[k]) : Answer{false, why});
    }
    return out;
  }

  /// All beside each other; where the tools fail, halves, down to the piece that they fail at.
  void ask_apart(const std::vector<Piece>& pieces, const std::vector<std::string>& questions, const std::vector<size_t>& open) {
    if (open.empty()) return;
    std::vector<std::vector<sdk::Node>> nodes;
    for (size_t k : open) nodes.push_back(pieces[k].nodes);
    try {
      const auto said = assigned(sdk::Cut(graph_.raw(), nodes), nullptr);
      for (size_t k = 0; k < open.size(); ++k) {
        bool all = true;
        for (const sdk::Node& n : nodes[k]) all = all && of(said, first_output(n) + "/" + std::to_string(k)).taken;
        const Answer own = of(said, first_output(pieces[open[k]].asked) + "/" + std::to_string(k));
        answers_.keep(questions[open[k]], all ? Answer{true, ""} : Answer{false, own.why});
      }
    } catch (const sdk::Error& e) {
      if (!is_answer(e)) throw;
      if (open.size() == 1) return answers_.keep(questions[open[0]], {false, one_line(e.text)}, e.code == OPTIMA_UNSUPPORTED);
      const auto middle = open.begin() + static_cast<std::ptrdiff_t>(open.size() / 2);
      ask_apart(pieces, questions, {open.begin(), middle});
      ask_apart(pieces, questions, {middle, open.end()});
    }
  }

  std::vector<Answer> whole(const std::vector<sdk::Node>& nodes) {
    std::vector<Answer> out(nodes.size(), {true, ""});
    if (nodes.empty()) return out;
    try {
      std::string digest;
      const auto said = assigned(sdk::Cut(graph_.raw(), nodes, sdk::CutOutputs::Read), &digest);
      if (said.size() == 1 && said.count("")) return out;  // kept: all of it is taken
      bool all = true;
      for (size_t k = 0; k < nodes.size(); ++k) out[k] = of(said, first_output(nodes[k])), all = all && out[k].taken;
      if (all) answers_.keep(digest, {true, ""});
    } catch (const sdk::Error& e) {
      if (!is_answer(e)) throw;
      if (nodes.size() == 1) return {{false, one_line(e.text)}};
      const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2);
      out = whole({nodes.begin(), middle});
      const std::vector<Answer> rest = whole({middle, nodes.end()});
      out.insert(out.end(), rest.begin(), rest.end());
    }
    return out;
  }

  static std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }

  Toolchain& tools_;
  const Target& target_;
  sdk::Host host_;
  Answers& answers_;
  sdk::Graph graph_;
  Task task_;
  std::string whom_;
  int count_ = 0;
};

/// By node, the node that the tools take with it and others as one.
std::unordered_map<const optima_node*, sdk::Node> groups(const sdk::Graph& graph, const std::vector<sdk::Node>& nodes, const std::vector<Answer>& said) {
  std::unordered_map<const optima_node*, sdk::Node> of;
  const std::vector<Piece> pieces = pieces_of(graph, nodes);
  for (size_t k = 0; k < pieces.size(); ++k)
    for (const sdk::Node& n : pieces[k].nodes)
      if (pieces[k].as_one && said[k].taken) of.emplace(&n.raw(), pieces[k].asked);
  return of;
}

void only_in_group(sdk::Verdict& v, const sdk::Node& asked) {
  v.verdict = OPTIMA_VERDICT_ONLY_IN_GROUP, v.reason = OPTIMA_REASON_OTHER, v.group = asked.id();
  v.text = "taken only with " + std::string(asked.op()) + " '" + std::string(asked.name()) + "', as one operator";
}

}  // namespace

std::vector<sdk::Verdict> ask(const Tools& tools, const sdk::Host& host, Answers& answers, const sdk::CheckRequest& request) {
  const Target target = target_of(request.device(), request.options());
  std::vector<sdk::Verdict> out;
  std::vector<sdk::Node> open;
  for (const sdk::Node& n : request.nodes()) {
    sdk::Verdict v = judge(n, target);
    if (v.yes()) open.push_back(n);
    else out.push_back(std::move(v));
  }
  std::sort(open.begin(), open.end(), [](const sdk::Node& a, const sdk::Node& b) { return &a.raw() < &b.raw(); });  // the graph's order
  std::string why;
  Toolchain* found = tools.find(why);
  if (!found || !found->cannot_compile(target).empty()) {
    for (const sdk::Node& n : open) out.push_back(sdk::Verdict::supported(n));
    return out;
  }
  const std::vector<Answer> said = Asking(*found, target, host, answers, request)(open);
  const std::unordered_map<const optima_node*, sdk::Node> group = groups(request.graph(), open, said);
  const Reasons reasons(request.graph());
  for (size_t k = 0; k < open.size(); ++k) {
    out.push_back(said[k].taken ? sdk::Verdict::supported(open[k])
                                : sdk::Verdict::refused(open[k], reasons.of(open[k]), no_sentence(said[k].why, found->facts(), target)));
    if (const auto at = group.find(&open[k].raw()); at != group.end()) only_in_group(out.back(), at->second);
  }
  return out;
}

std::vector<sdk::Verdict> left_out(Toolchain& tools, const Target& target, const sdk::Graph& graph, const std::string& folder, const Bounds& bounds) {
  std::unordered_map<std::string, Taken> by_output;
  for (Taken& t : tools.assign(folder, target, bounds)) by_output.emplace(t.output, std::move(t));
  std::vector<sdk::Verdict> out;
  const Reasons reasons(graph);
  for (uint32_t k = 0; k < graph.size(); ++k)
    for (uint32_t o = 0; o < graph[k].output_count(); ++o) {
      if (!graph[k].output(o)) continue;
      const auto at = by_output.find(std::string(graph[k].output(o).name()));
      if (at != by_output.end() && !at->second.taken) out.push_back(sdk::Verdict::refused(graph[k], reasons.of(graph[k]), no_sentence(at->second.why, tools.facts(), target)));
      break;
    }
  return out;
}

}  // namespace snpe_plugin
