// SPDX-License-Identifier: Apache-2.0
#include "core/compile/doors.hpp"

#include <algorithm>
#include <map>

#include "core/compile/scopes.hpp"
#include "core/loader/calls.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

/// A subgraph as its plugin is asked about it.
struct Piece {
  Graph graph;
  PackedGraph packed;
  explicit Piece(Graph g) : graph(std::move(g)), packed(pack(graph)) {}
};

/// The value of the piece that is `value` of the graph around it; `values` are those of its inputs or outputs.
uint32_t inside(const std::vector<uint32_t>& values, const std::vector<uint32_t>& of_piece, uint32_t value) {
  return of_piece[static_cast<size_t>(std::find(values.begin(), values.end(), value) - values.begin())];
}

/// The doors of one plan.
class Chooser {
 public:
  Chooser(const PlanScope& scope, Plan& plan, Registry& registry) : graph_(*scope.graph), plan_(plan), registry_(registry) {}

  Status run() {
    for (CutTensor& cut : plan_.cuts) {
      cut.door = {};
      if (may_have_one(cut)) OPTIMA_RETURN_IF_ERROR(choose(cut));
    }
    return {};
  }

 private:
  const PlanDevice& device(uint32_t position) const { return plan_.devices[plan_.subgraphs[position].device]; }

  bool may_have_one(const CutTensor& cut) const {
    const std::vector<uint32_t>& outputs = graph_.main().outputs;
    const auto has = [&](uint32_t position) {
      if (is_host(device(position))) return false;
      Backend* plugin = registry_.compiler(device(position).plugin);
      return plugin && plugin->has_doors();
    };
    return cut.bytes > 0 && std::find(outputs.begin(), outputs.end(), cut.value) == outputs.end() && has(cut.from) &&
           std::all_of(cut.to.begin(), cut.to.end(), has);
  }

  Status choose(CutTensor& cut) {
    OPTIMA_ASSIGN(std::vector<Door> offers, offered(cut));
    for (Door& door : offers) {
      bool all = true;
      for (size_t k = 0; all && k < cut.to.size(); ++k) {
        OPTIMA_ASSIGN(all, takes(cut, cut.to[k], door));
      }
      if (!all) continue;
      cut.door = std::move(door);
      return {};
    }
    return {};
  }

  Result<std::vector<Door>> offered(const CutTensor& cut) {
    const Subgraph& from = plan_.subgraphs[cut.from];
    const Piece& piece = piece_of(cut.from);
    const seam::ForSubgraph calls_for(plan_.first + cut.from);
    const uint32_t value = inside(from.outputs, piece.graph.main().outputs, cut.value);
    auto offers = registry_.compiler(device(cut.from).plugin)->offer_doors(piece.packed.raw, value, device(cut.from).target);
    if (!offers.ok()) return offers.status().within(place(cut.from));
    return offers;
  }

  Result<bool> takes(const CutTensor& cut, uint32_t reader, const Door& door) {
    const Piece& piece = piece_of(reader);
    const seam::ForSubgraph calls_for(plan_.first + reader);
    const uint32_t value = inside(plan_.subgraphs[reader].inputs, piece.graph.main().inputs, cut.value);
    auto taken = registry_.compiler(device(reader).plugin)->takes_door(piece.packed.raw, value, door, device(reader).target);
    if (!taken.ok()) return taken.status().within(place(reader));
    return taken;
  }

  std::string place(uint32_t position) const { return cat("subgraph ", plan_.first + position, " on ", device(position).full_name); }

  const Piece& piece_of(uint32_t position) {
    const auto found = pieces_.find(position);
    if (found != pieces_.end()) return found->second;
    const Subgraph& s = plan_.subgraphs[position];
    return pieces_.try_emplace(position, extract(graph_, s.run_nodes(), s.inputs, s.outputs)).first->second;
  }

  const Graph& graph_;
  Plan& plan_;
  Registry& registry_;
  std::map<uint32_t, Piece> pieces_;  // by position
};

// In the order of scopes_of().
void list_plans(Plan& plan, std::vector<Plan*>& out) {
  out.push_back(&plan);
  for (BodyPlan& body : plan.bodies) list_plans(body.plan, out);
}

}  // namespace

Status choose_doors(Planned& planned, Registry& registry) {
  std::vector<Plan*> plans;
  list_plans(planned.plan, plans);
  const std::vector<PlanScope> scopes = scopes_of(planned);
  for (size_t i = 0; i < scopes.size(); ++i) OPTIMA_RETURN_IF_ERROR(Chooser(scopes[i], *plans[i], registry).run());
  return {};
}

std::vector<ValueDoor> doors_of(const Plan& plan, uint32_t position, const image::Graph& piece) {
  std::vector<ValueDoor> out;
  const Subgraph& subgraph = plan.subgraphs[position];
  for (const CutTensor& cut : plan.cuts) {
    if (cut.door.is_usual()) continue;
    if (cut.from == position) out.push_back({inside(subgraph.outputs, piece.outputs, cut.value), cut.door});
    else if (std::binary_search(cut.to.begin(), cut.to.end(), position)) out.push_back({inside(subgraph.inputs, piece.inputs, cut.value), cut.door});
  }
  return out;
}

}  // namespace optima::detail
