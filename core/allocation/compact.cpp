// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "core/allocation/allocation.hpp"
#include "core/allocation/names.hpp"
#include "core/support/json_value.hpp"

namespace optima {
namespace {

using detail::NamedNode;

// Rules are added from the most general to the most exact; after each kind, `wrong` are the nodes that do not yet go where they should.
class Compactor {
 public:
  Compactor(const Graph& graph, const std::map<std::string, std::string, std::less<>>& device_of)
      : graph_(graph), names_(graph), device_of_(device_of) {}

  Result<std::string> run() {
    for (const NamedNode& node : names_.nodes())
      if (node.id != OPTIMA_NONE) live_.push_back(&node);
    if (live_.empty()) return text();
    add("*", most_common());
    OPTIMA_RETURN_IF_ERROR(resolve_rules());
    add_operators();
    OPTIMA_RETURN_IF_ERROR(resolve_rules());
    add_folders();
    OPTIMA_RETURN_IF_ERROR(resolve_rules());
    for (const NamedNode* node : wrong_) add(std::string(node->name), wanted(*node));
    return text();
  }

 private:
  const std::string& wanted(const NamedNode& node) const { return device_of_.find(node.name)->second; }
  void add(const std::string& key, const std::string& device) {
    const auto [at, fresh] = place_.try_emplace(key, rules_.size());
    if (fresh) rules_.emplace_back(key, device);
    else rules_[at->second].second = device;
  }

  std::string most_common() const {
    std::map<std::string_view, size_t> count;
    for (const NamedNode* node : live_) ++count[wanted(*node)];
    const auto more = [](const auto& a, const auto& b) { return a.second < b.second; };
    return std::string(std::max_element(count.begin(), count.end(), more)->first);
  }

  // What the rules so far mean, by the same code that reads a user's file.
  Status resolve_rules() {
    OPTIMA_ASSIGN(const Allocation allocation, parse_allocation(document(), "the compact allocation"));
    OPTIMA_ASSIGN(const Resolved resolved, resolve(allocation, graph_));
    wrong_.clear();
    for (const NamedNode* node : live_) {
      OPTIMA_ASSIGN(const Wish wish, parse_wish(wanted(*node)));
      if (!resolved.by_node_id[node->id].same_as(wish)) wrong_.push_back(node);
    }
    return {};
  }

  // Operators of which every node goes to one device.
  void add_operators() {
    std::map<std::string_view, std::set<std::string_view>> devices;
    std::map<std::string_view, size_t> wrong;
    for (const NamedNode* node : live_) devices[node->op_type].insert(wanted(*node));
    for (const NamedNode* node : wrong_) ++wrong[node->op_type];
    for (const auto& [op, nodes] : wrong)
      if (nodes > 1 && devices[op].size() == 1) add("op:" + std::string(op), std::string(*devices[op].begin()));
  }

  // Name prefixes up to a '/' under which every node goes to one device; the shortest that will do.
  void add_folders() {
    std::map<std::string_view, std::set<std::string_view>> devices;
    std::map<std::string_view, size_t> wrong;
    const auto each_folder = [](std::string_view name, auto&& f) {
      for (size_t at = name.find('/', 1); at != std::string_view::npos; at = name.find('/', at + 1)) f(name.substr(0, at + 1));
    };
    for (const NamedNode* node : live_) each_folder(node->name, [&](std::string_view folder) { devices[folder].insert(wanted(*node)); });
    for (const NamedNode* node : wrong_) each_folder(node->name, [&](std::string_view folder) { ++wrong[folder]; });
    std::string_view last = "*";
    for (const auto& [folder, nodes] : wrong) {  // a folder comes before those inside it
      if (nodes < 2 || devices[folder].size() != 1 || folder.starts_with(last) || folder.find_first_of("*?") != std::string_view::npos) continue;
      add(std::string(folder) + "*", std::string(*devices[folder].begin()));
      last = folder;
    }
  }

  Json document() const {
    Json out = Json::object();
    for (const auto& [key, device] : rules_) append_member(out, key, wish_value(device));
    return out;
  }
  std::string text() const { return to_text(document()); }

  const Graph& graph_;
  const detail::NodeNames names_;
  const std::map<std::string, std::string, std::less<>>& device_of_;
  std::vector<const NamedNode*> live_, wrong_;
  std::vector<std::pair<std::string, std::string>> rules_;
  std::map<std::string, size_t> place_;  // in rules_
};

}  // namespace

Result<std::string> compact_allocation(const Graph& graph, const std::map<std::string, std::string, std::less<>>& device_of) {
  return Compactor(graph, device_of).run();
}

}  // namespace optima
