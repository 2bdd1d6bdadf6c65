// SPDX-License-Identifier: Apache-2.0
// tests of view: plans of any size, made without a model.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"

namespace optima::test {

/// `count` nodes in a graph of short and some long edges, in runs of about `run` nodes over `devices` devices. The first tensor is
/// the input, the last the output. Device d takes every node whose index is no multiple of d + 2, and those that it has.
inline Plan made_plan(uint32_t count, uint32_t devices, uint32_t run, uint64_t seed = 1) {
  static const char* const kOps[] = {"Conv", "Relu", "Add", "MatMul", "Softmax", "Concat"};
  std::mt19937_64 random(seed);
  Plan plan;
  plan.model_name = "made";
  plan.model_hash = std::string(64, 'a');
  for (uint32_t d = 0; d < devices; ++d) {
    const std::string name = "KIND" + std::to_string(d) + ":0";
    PlanDevice& device = plan.devices.emplace_back();
    device.name = name, device.full_name = "plugin/" + name, device.plugin = "plugin", device.rule = "the only plugin for it";
    device.target.kind = "KIND" + std::to_string(d);
  }
  plan.tensors.push_back({"input", "f32[4]", 0, 16, {}, {}, false});
  for (uint32_t n = 0; n < count; ++n) {
    if (n == 0 || (devices > 1 && random() % run == 0)) plan.subgraphs.push_back({static_cast<uint32_t>(plan.subgraphs.size()) % devices, {}, {}, {}, {}, {}});
    plan.subgraphs.back().nodes.push_back(n);
    PlacedNode& node = plan.nodes.emplace_back();
    node.node_id = n, node.op_type = kOps[random() % 6], node.name = "block/" + node.op_type + "_" + std::to_string(n);
    node.subgraph = static_cast<uint32_t>(plan.subgraphs.size() - 1), node.device = plan.subgraphs.back().device, node.unit = n;
    node.sentence = "it was made so";
    for (uint32_t d = 0; d < devices; ++d) {
      const bool yes = d == node.device || n % (d + 2) != 0;
      node.answers.push_back({yes, yes ? "" : "DTYPE", yes ? "" : "input 0 is f32, wanted f16"});
    }
    const auto reads = [&](uint32_t t) {
      if (plan.tensors[t].to.empty() || plan.tensors[t].to.back() != n) plan.tensors[t].to.push_back(n);
    };
    reads(n);  // the tensor of the node before
    if (random() % 3 == 0) reads(n - static_cast<uint32_t>(random() % std::min<uint64_t>(n + 1, random() % 20 == 0 ? 60 : 6)));
    plan.tensors.push_back({node.name + "_out", "f32[4]", n + 1, 16, n, {}, n + 1 == count});
  }
  for (const PlanTensor& tensor : plan.tensors) {
    CutTensor cut{tensor.name, tensor.value, 0, {}, tensor.bytes};
    if (tensor.from) cut.from = plan.nodes[*tensor.from].subgraph;
    for (uint32_t n : tensor.to)
      if (tensor.from && plan.nodes[n].subgraph != cut.from && (cut.to.empty() || cut.to.back() != plan.nodes[n].subgraph)) cut.to.push_back(plan.nodes[n].subgraph);
    if (!cut.to.empty()) plan.cuts.push_back(cut);
  }
  plan.lower_bound = 1;
  return plan;
}

/// made_plan(5 nodes, two devices), whose node 2 is a Loop alone in a subgraph of the host, over a body of made_plan(4 nodes).
inline Plan made_plan_with_body() {
  Plan plan = made_plan(5, 2, 100);
  PlanDevice host;
  host.name = host.full_name = kHostDevice;
  plan.devices.push_back(host);
  plan.subgraphs = {{0, {0, 1}, {}, {}, {}, {}}, {2, {2}, {}, {}, {}, {}}, {1, {3, 4}, {}, {}, {}, {}}};
  plan.cuts.clear();
  for (uint32_t n = 0; n < 5; ++n) {
    plan.nodes[n].subgraph = n < 2 ? 0 : n == 2 ? 1 : 2;
    plan.nodes[n].device = plan.subgraphs[plan.nodes[n].subgraph].device;
    plan.nodes[n].answers.push_back({n == 2, n == 2 ? "" : "POLICY", ""});
  }
  for (PlanTensor& tensor : plan.tensors) {
    CutTensor cut{tensor.name, tensor.value, tensor.from ? plan.nodes[*tensor.from].subgraph : 0, {}, tensor.bytes};
    for (uint32_t n : tensor.to)
      if (tensor.from && plan.nodes[n].subgraph != cut.from && (cut.to.empty() || cut.to.back() != plan.nodes[n].subgraph))
        cut.to.push_back(plan.nodes[n].subgraph);
    if (!cut.to.empty()) plan.cuts.push_back(cut);
  }
  plan.nodes[2].name = "loop", plan.nodes[2].op_type = "Loop";
  BodyPlan body{2, "body", 5, true, made_plan(4, 2, 2, 7)};
  body.plan.first = 3;
  plan.bytes = 64, body.plan.bytes = 32;
  for (PlacedNode& node : body.plan.nodes) node.name = "loop/body/" + node.name;
  for (PlanTensor& tensor : body.plan.tensors) tensor.name = "loop/body/" + tensor.name;
  plan.bodies.push_back(std::move(body));
  return plan;
}

/// Makes the subgraph of `reader` run a clone of the node.
inline void clone_for(Plan& plan, uint32_t node, uint32_t reader) {
  plan.subgraphs[plan.nodes[reader].subgraph].clones.push_back({node, "runs here too, for " + plan.nodes[reader].name});
}

}  // namespace optima::test
