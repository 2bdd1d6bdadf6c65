// SPDX-License-Identifier: Apache-2.0
// Reads HPVM's tuner_confs.txt: a baseline time, then configurations, of which the first is the one that is run:
//   +++++
//   conf1 SPEEDUP ENERGY ACCURACY ACCURACY_LOSS
//   NODE gpu|cpu OP KIND KNOB [OP KIND KNOB]...
//   -----
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hpvm {

struct Node {
  int id;
  bool product;  // whether it begins with one
  int bias;      // the place in ops of a product's bias, or -1; 0: the product is the node before
  std::vector<std::string> ops;
};

using Operation = std::pair<int, int>;  // a node's number and a place in its ops

struct Knob {
  int line, node;
  int place;  // in the node's ops
  std::string device, op, kind;
  int number;
};

struct Configuration {
  std::string name;
  std::vector<Knob> knobs;
};

enum class Approximation { None, Half, Perforation, HalfPerforation, Sampling, HalfSampling };

[[noreturn]] inline void fail(const std::string& path, int line, const std::string& what) {
  throw std::runtime_error(path + ":" + std::to_string(line) + ": " + what);
}

inline bool within(int n, int low, int high) { return n >= low && n <= high; }

// What a knob's number means; of 1 and 2, which operators without knobs have, the kind does.
inline Approximation meaning_of(const std::string& path, int line, const std::string& kind, int number) {
  if (number == 11 || (within(number, 1, 2) && kind == "fp32")) return Approximation::None;
  if (number == 12 || (within(number, 1, 2) && kind == "fp16")) return Approximation::Half;
  if (within(number, 121, 138)) return Approximation::Perforation;
  if (within(number, 151, 168)) return Approximation::HalfPerforation;
  if (within(number, 231, 239)) return Approximation::Sampling;
  if (within(number, 261, 269)) return Approximation::HalfSampling;
  fail(path, line, "found knob '" + kind + " " + std::to_string(number) + "', wanted 11 (fp32), 12 (fp16), 121-138, 151-168, 231-239 or 261-269");
}

inline bool is_number(const std::string& word) {
  char* end = nullptr;
  std::strtod(word.c_str(), &end);
  return !word.empty() && *end == 0;
}

inline bool is_count(const std::string& word) {
  return !word.empty() && word.size() < 9 && word.find_first_not_of("0123456789") == std::string::npos;
}

// The place of an operation in a node's ops, from `from` on; -1 where there is none. The first of a node comes first. A product of matrices has several names.
inline int place_of(const Node& node, const std::string& op, int from) {
  const std::string name = op == "matmul" || op == "dense" || op == "gemm" ? "mul" : op;
  for (int k = from; k < (from == 0 ? 1 : static_cast<int>(node.ops.size())); ++k)
    if (node.ops[static_cast<size_t>(k)] == name) return k;
  return -1;
}

inline std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

class ConfReader {
 public:
  ConfReader(const std::string& path, const std::vector<Node>& nodes) : path_(path), nodes_(nodes), file_(path) {}

  std::vector<Configuration> read() {
    if (!file_) throw std::runtime_error("cannot read configuration '" + path_ + "'");
    if (!next() || words_.size() != 1 || !is_number(words_[0])) fail_here("the baseline time, a number");
    std::vector<Configuration> out;
    while (next()) {
      if (!is_rule('+')) fail_here("a line of plus signs, where a configuration begins");
      out.push_back(block());
    }
    if (file_.bad()) throw std::runtime_error("cannot read configuration '" + path_ + "'");
    if (out.empty()) fail(path_, line_, "the file ends, wanted a configuration");
    return out;
  }

 private:
  // The next line that has words.
  bool next() {
    for (std::string text; std::getline(file_, text);) {
      ++line_;
      std::istringstream stream(text);
      words_.clear();
      for (std::string word; stream >> word;) words_.push_back(word);
      if (!words_.empty()) return text_ = text, true;
    }
    return words_.clear(), text_.clear(), false;
  }
  bool is_rule(char sign) const { return words_.size() == 1 && words_[0].find_first_not_of(sign) == std::string::npos; }
  [[noreturn]] void fail_here(const std::string& wanted) const {
    fail(path_, line_, words_.empty() ? "the file ends, wanted " + wanted : "found '" + text_.substr(0, 60) + "', wanted " + wanted);
  }

  Configuration block() {
    if (!next() || words_.size() != 5 || words_[0].rfind("conf", 0) != 0 || !std::all_of(words_.begin() + 1, words_.end(), is_number))
      fail_here("conf<K> with speedup, energy, accuracy and accuracy loss");
    Configuration conf{words_[0], {}};
    std::set<int> seen;
    while (next() && !is_rule('-')) node_line(conf, seen);
    if (words_.empty()) fail_here("a line of minus signs, where " + conf.name + " ends");
    return conf;
  }

  void node_line(Configuration& conf, std::set<int>& seen) {
    const std::string form = "NODE gpu|cpu, then OP KIND KNOB once or more";
    if (words_.size() < 5 || words_.size() % 3 != 2 || !is_count(words_[0]) || (words_[1] != "gpu" && words_[1] != "cpu")) fail_here(form);
    const int id = std::atoi(words_[0].c_str());
    if (id < 1 || id > static_cast<int>(nodes_.size())) fail(path_, line_, "found node " + words_[0] + ", wanted one of 1 to " + std::to_string(nodes_.size()) + " (ops.json)");
    if (!seen.insert(id).second) fail(path_, line_, "found node " + words_[0] + " again in " + conf.name + ", wanted it once");
    int next = 0;
    for (size_t i = 2; i < words_.size(); i += 3) {
      if (!is_count(words_[i + 2])) fail_here(form);
      const Node& node = nodes_[static_cast<size_t>(id - 1)];
      const int place = place_of(node, words_[i], next);
      if (place < 0)
        fail(path_, line_, "found '" + words_[i] + "' for node " + words_[0] + ", which is '" + joined(node.ops) + "', wanted its operations in their order, from the first on (ops.json)");
      next = place + 1;
      const Knob knob{line_, id, place, words_[1], words_[i], words_[i + 1], std::atoi(words_[i + 2].c_str())};
      meaning_of(path_, line_, knob.kind, knob.number);
      conf.knobs.push_back(knob);
    }
  }

  std::string path_, text_;
  const std::vector<Node>& nodes_;
  std::ifstream file_;
  int line_ = 0;
  std::vector<std::string> words_;
};

// A bias is computed with its product, as that is.
inline bool is_bias(const Node& node, int place) { return node.bias == place; }
inline Operation product_of_bias(const Node& node) { return {node.bias == 0 ? node.id - 1 : node.id, 0}; }

// The operations that a configuration wants in fp16.
inline std::set<Operation> half_operations(const std::string& path, const Configuration& conf, const std::vector<Node>& nodes) {
  std::set<Operation> out;
  for (const Knob& k : conf.knobs)
    if (!is_bias(nodes[static_cast<size_t>(k.node - 1)], k.place) && meaning_of(path, k.line, k.kind, k.number) == Approximation::Half) out.insert({k.node, k.place});
  return out;
}

// Why a knob is not what is computed, given the operations that run in fp16; empty = it is.
inline std::string why_not(const std::string& path, const Knob& k, const std::vector<Node>& nodes, const std::set<Operation>& half) {
  const Approximation a = meaning_of(path, k.line, k.kind, k.number);
  if (a == Approximation::None) return {};
  if (a == Approximation::Perforation || a == Approximation::HalfPerforation) return "no kernel perforates";
  if (a == Approximation::Sampling || a == Approximation::HalfSampling) return "no kernel samples its filter";
  const Node& node = nodes[static_cast<size_t>(k.node - 1)];
  if (is_bias(node, k.place)) return half.count(product_of_bias(node)) ? std::string() : "a bias is computed as its product is, in fp32";
  return half.count({k.node, k.place}) ? std::string() : "no package was compiled with this mixture of fp16 and fp32 (give the file to ModelExporter)";
}

}  // namespace hpvm
