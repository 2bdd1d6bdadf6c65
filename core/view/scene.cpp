// SPDX-License-Identifier: Apache-2.0
#include "core/view/scene.hpp"

#include <algorithm>
#include <unordered_map>

namespace optima::view {
namespace {

constexpr uint32_t kNowhere = UINT32_MAX;

class SceneMaker {
 public:
  explicit SceneMaker(const Plan& plan)
      : plan_(plan), made_(plan.nodes.size()), node_item_(plan.nodes.size(), kNowhere), tensor_item_(plan.tensors.size(), kNowhere) {
    for (const CutTensor& cut : plan.cuts) cuts_.emplace(cut.value, &cut);
  }

  Scene run() {
    problem_.clusters = static_cast<uint32_t>(plan_.subgraphs.size()) + 1;
    add_items();
    for (uint32_t t = 0; t < plan_.tensors.size(); ++t) join(t);
    for (const Scene::Line& line : out_.lines) problem_.edges.push_back({line.from, line.to});
    out_.layout = lay_out(problem_);
    return std::move(out_);
  }

 private:
  uint32_t add(Scene::Kind kind, uint32_t index, uint32_t cluster) {
    out_.items.push_back({kind, index});
    problem_.items.push_back({cluster, kNodeWidth, kind == Scene::Kind::Node ? kNodeHeight : kTensorHeight});
    return static_cast<uint32_t>(out_.items.size() - 1);
  }

  // Whether the tensor comes over to the subgraph; who runs a clone of its maker does not wait for it.
  bool crosses_to(const PlanTensor& tensor, uint32_t subgraph) const {
    const auto cut = cuts_.find(tensor.value);
    return cut != cuts_.end() && std::binary_search(cut->second->to.begin(), cut->second->to.end(), subgraph);
  }
  bool crosses(const PlanTensor& tensor) const { return cuts_.count(tensor.value) != 0; }

  void add_items() {
    for (uint32_t t = 0; t < plan_.tensors.size(); ++t)
      if (!plan_.tensors[t].from) tensor_item_[t] = add(Scene::Kind::Input, t, 0);
      else if (crosses(plan_.tensors[t]) || plan_.tensors[t].output) made_[*plan_.tensors[t].from].push_back(t);
    for (uint32_t n = 0; n < plan_.nodes.size(); ++n) {
      const uint32_t cluster = plan_.nodes[n].subgraph + 1;
      node_item_[n] = add(Scene::Kind::Node, n, cluster);
      for (uint32_t t : made_[n]) tensor_item_[t] = add(crosses(plan_.tensors[t]) ? Scene::Kind::Cut : Scene::Kind::Output, t, cluster);
    }
  }

  void join(uint32_t t) {
    const PlanTensor& tensor = plan_.tensors[t];
    const uint32_t maker = tensor.from ? node_item_[*tensor.from] : tensor_item_[t];
    if (tensor.from && tensor_item_[t] != kNowhere) out_.lines.push_back({maker, tensor_item_[t], t});
    for (uint32_t reader : tensor.to) {
      const bool over = tensor.from && crosses_to(tensor, plan_.nodes[reader].subgraph) && tensor_item_[t] != kNowhere;
      out_.lines.push_back({over ? tensor_item_[t] : maker, node_item_[reader], t});
    }
  }

  const Plan& plan_;
  std::unordered_map<uint32_t, const CutTensor*> cuts_;  // by value; looked up only
  std::vector<std::vector<uint32_t>> made_;        // by node: tensors that are items of their own
  std::vector<uint32_t> node_item_, tensor_item_;  // by node, by tensor
  LayoutProblem problem_;
  Scene out_;
};

}  // namespace

Scene make_scene(const Plan& plan) { return SceneMaker(plan).run(); }

}  // namespace optima::view
