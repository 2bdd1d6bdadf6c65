// SPDX-License-Identifier: Apache-2.0
#include "core/view/scene.hpp"

#include <algorithm>

namespace optima::view {
namespace {

constexpr uint32_t kNowhere = UINT32_MAX;

class SceneMaker {
 public:
  explicit SceneMaker(const Plan& plan)
      : plan_(plan), made_(plan.nodes.size()), node_item_(plan.nodes.size(), kNowhere), tensor_item_(plan.tensors.size(), kNowhere) {}

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

  bool crosses(const PlanTensor& tensor) const {
    return tensor.from && std::any_of(tensor.to.begin(), tensor.to.end(), [&](uint32_t n) { return plan_.nodes[n].subgraph != plan_.nodes[*tensor.from].subgraph; });
  }

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
      const bool inside = tensor.from && plan_.nodes[reader].subgraph == plan_.nodes[*tensor.from].subgraph;
      out_.lines.push_back({inside ? maker : tensor_item_[t], node_item_[reader], t});
    }
  }

  const Plan& plan_;
  std::vector<std::vector<uint32_t>> made_;        // by node: tensors that are items of their own
  std::vector<uint32_t> node_item_, tensor_item_;  // by node, by tensor
  LayoutProblem problem_;
  Scene out_;
};

}  // namespace

Scene make_scene(const Plan& plan) { return SceneMaker(plan).run(); }

}  // namespace optima::view
