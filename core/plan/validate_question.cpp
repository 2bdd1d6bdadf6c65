// SPDX-License-Identifier: Apache-2.0
#include "core/plan/validate_question.hpp"

#include <set>
#include <tuple>

#include "core/support/text.hpp"

namespace optima {
namespace {

template <class... T>
Status bad(const T&... parts) {
  return internal_error(cat("plan is not valid: its question ", parts...));
}

class QuestionChecker {
 public:
  explicit QuestionChecker(const Plan& plan) : plan_(plan), q_(*plan.question) {}

  Status run() {
    OPTIMA_RETURN_IF_ERROR(units());
    OPTIMA_RETURN_IF_ERROR(tensors());
    return devices();
  }

 private:
  // From unit, to unit, bytes, value.
  using Edge = std::tuple<uint32_t, uint32_t, uint64_t, uint32_t>;

  Status units() const {
    std::set<uint32_t> numbers;
    for (uint32_t n = 0; n < plan_.nodes.size(); ++n) {
      const PlacedNode& node = plan_.nodes[n];
      if (q_.unit_of[node.unit] != q_.unit_of[n]) return bad("has node ", quote(node.name), " apart from its unit");
      if (node.unit == n && !numbers.insert(q_.unit_of[n]).second) return bad("has node ", quote(node.name), " in the unit of another");
      std::set<uint32_t> copied;
      for (uint32_t first : node.copied) copied.insert(q_.unit_of[first]);
      const auto at = q_.copies.find(n);
      if (copied != (at == q_.copies.end() ? std::set<uint32_t>() : std::set<uint32_t>(at->second.begin(), at->second.end())))
        return bad("copies node ", quote(node.name), " into other units than the plan");
    }
    return {};
  }

  // Units that run the node.
  std::set<uint32_t> run_by(uint32_t node) const {
    std::set<uint32_t> out = {q_.unit_of[node]};
    if (const auto at = q_.copies.find(node); at != q_.copies.end()) out.insert(at->second.begin(), at->second.end());
    return out;
  }

  Status tensors() const {
    std::set<Edge> wanted, found;
    std::set<uint32_t> open;  // values whose size is not known: the question assumes one
    for (const PlanTensor& tensor : plan_.tensors) {
      if (tensor.bytes == 0) open.insert(tensor.value);
      if (!tensor.from) continue;
      const std::set<uint32_t> made = run_by(*tensor.from);
      for (uint32_t to : tensor.to)
        for (uint32_t reader : run_by(to))
          if (!made.count(reader)) wanted.emplace(q_.unit_of[*tensor.from], reader, tensor.bytes, tensor.value);
    }
    for (uint32_t n = 0; n < plan_.nodes.size(); ++n)
      if (const auto& after = plan_.nodes[n].after; after && q_.unit_of[*after] != q_.unit_of[n])
        wanted.emplace(q_.unit_of[*after], q_.unit_of[n], 0, SplitProblem::kOrder);
    const SplitProblem& p = q_.problem;
    if (p.values.size() != p.bytes.size()) return bad("does not name its tensors");
    for (uint32_t u = 0; u < p.units(); ++u)
      for (uint32_t t = p.first_tensor[u]; t < p.first_tensor[u + 1]; ++t)
        for (uint32_t r = p.first_reader[t]; r < p.first_reader[t + 1]; ++r) found.emplace(u, p.readers[r], open.count(p.values[t]) ? 0 : p.bytes[t], p.values[t]);
    return wanted == found ? Status() : bad("has other tensors between units than the plan");
  }

  Status devices() const {
    std::vector<uint64_t> yes(plan_.nodes.size(), 0);
    for (size_t n = 0; n < yes.size(); ++n)
      for (size_t d = 0; d < plan_.nodes[n].answers.size(); ++d) yes[n] |= uint64_t{plan_.nodes[n].answers[d].yes} << d;
    const std::vector<uint64_t> allow = q_.allow_if(yes);
    for (const PlacedNode& node : plan_.nodes) {
      const uint32_t unit = q_.unit_of[&node - plan_.nodes.data()];
      if (allow[unit] != q_.problem.allow[unit]) return bad("gives the unit of node ", quote(node.name), " other devices than its rules");
      if (!(allow[unit] >> node.device & 1)) return bad("does not let node ", quote(node.name), " go to ", plan_.devices[node.device].name);
    }
    return {};
  }

  const Plan& plan_;
  const PlanQuestion& q_;
};

}  // namespace

Status validate_question(const Plan& plan) {
  if (!plan.question) return internal_error("plan is not valid: it does not keep its question");
  const Status fits = plan.question->fits(plan);
  return fits.ok() ? QuestionChecker(plan).run() : bad("does not fit it: ", fits.message());
}

}  // namespace optima
