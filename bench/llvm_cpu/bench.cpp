// SPDX-License-Identifier: Apache-2.0
// bench/llvm_cpu: times networks and single layers through both halves of the plugin, beside the machine's peak.
//   bench_llvm_cpu [resnet18|resnet50|mobilenet_v2|squeezenet|layers] [threads] [rounds] [profile]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "bench/llvm_cpu/nets.hpp"
#include "bench/llvm_cpu/peak.hpp"
#include "optima/ext/profile.h"

namespace {

using namespace llvm_cpu_bench;
using namespace llvm_cpu_test;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Sorted milliseconds.
std::vector<double> time_runs(Session& session, const Tensors& in, int rounds) {
  std::vector<double> ms;
  for (int i = 0; i < 3; ++i) session.run(in);
  for (int i = 0; i < rounds; ++i) {
    const double t = now();
    session.run(in);
    ms.push_back((now() - t) * 1e3);
  }
  std::sort(ms.begin(), ms.end());
  return ms;
}

/// Median microseconds per step.
void print_profile(Bench& bench, Session& session, const Tensors& in) {
  const auto* profile = bench.runtime->extension<optima_profile>(OPTIMA_EXT_PROFILE);
  seam::Status status;
  profile->enable(session.context(), 1, &status.raw);
  std::vector<std::pair<std::string, std::vector<double>>> steps;
  for (int i = 0; i < 21; ++i) {
    session.run(in);
    struct Reading {
      std::vector<std::pair<std::string, std::vector<double>>>* steps;
      size_t at = 0;
    } reading{&steps};
    profile->read(session.context(), [](void* p, const optima_event* e, uint32_t) -> int32_t {
      auto& r = *static_cast<Reading*>(p);
      if (r.at == r.steps->size()) r.steps->push_back({seam::text(e->name), {}});
      (*r.steps)[r.at++].second.push_back(static_cast<double>(e->duration_ns) / 1e3);
      return OPTIMA_OK;
    }, &reading, &status.raw);
  }
  profile->enable(session.context(), 0, &status.raw);
  for (auto& [name, us] : steps) std::sort(us.begin(), us.end()), std::printf("  %8.1f us  %s\n", us[us.size() / 2], name.c_str());
}

void net(Bench& bench, const std::string& name, void (*build)(Net&), int threads, int rounds, bool profile) {
  Net n;
  build(n);
  const double t = now();
  const auto c = compile(bench, n);
  if (c->code) throw std::runtime_error(c->status.message);
  const double compiled = now() - t;
  const Tensors in = random_inputs(*c);
  const double u = now();
  Session session(bench, *c, threads);
  const double loaded = now() - u;
  const auto ms = time_runs(session, in, rounds);
  std::printf("%-14s %d threads: min %.2f ms, median %.2f ms; %zu files, compiled in %.1f s, loaded in %.2f s\n", name.c_str(), threads, ms[0], ms[ms.size() / 2],
              c->sink.files.size(), compiled, loaded);
  if (profile) print_profile(bench, session, in);
}

struct Layer {
  int64_t in, out, kernel, stride, size;
};

void layer(Bench& bench, const Layer& l, int threads, int rounds, double peak, bool winograd) {
  Net n;
  const uint32_t x = n.input({1, l.in, l.size, l.size}), a = n.conv(x, l.in, 1, 1, 0);  // brings the input into blocks
  n.output(n.node("GlobalAveragePool", 1, {n.same("Relu", 14, n.conv(a, l.out, l.kernel, l.stride, l.kernel / 2))}, {1, l.out, 1, 1}));
  const auto c = compile(bench, n, {number_option("llvm_cpu.winograd", winograd)});
  if (c->code) throw std::runtime_error(c->status.message);
  Session session(bench, *c, threads);
  const Tensors in = random_inputs(*c);
  const auto* profile = bench.runtime->extension<optima_profile>(OPTIMA_EXT_PROFILE);
  seam::Status status;
  profile->enable(session.context(), 1, &status.raw);
  std::map<std::string, std::vector<double>> us;
  for (int i = 0; i < rounds; ++i) session.run(in);
  profile->read(session.context(), [](void* p, const optima_event* e, uint32_t) -> int32_t {
    (*static_cast<std::map<std::string, std::vector<double>>*>(p))[seam::text(e->name)].push_back(static_cast<double>(e->duration_ns) / 1e3);
    return OPTIMA_OK;
  }, &us, &status.raw);
  const int64_t out = (l.size - 1) / l.stride + 1;
  const double flop = 2.0 * static_cast<double>(l.in * l.out * l.kernel * l.kernel * out * out);
  for (auto& [name, t] : us) {
    if (name.find(std::to_string(l.in) + "->" + std::to_string(l.out) + " " + std::to_string(l.kernel)) == std::string::npos) continue;
    std::sort(t.begin(), t.end());
    const double median = t[t.size() / 2];
    std::printf("  %-44s %8.1f us  %5.1f %% of peak\n", name.c_str(), median, flop / median / 1e3 / peak * 100);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "resnet18";
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1, rounds = argc > 3 ? std::atoi(argv[3]) : 30;
  const bool profile = argc > 4;
  Bench bench;
  const double peak = peak_gflops() * threads;
  std::printf("multiply-add peak: %.0f GFLOP/s on %d threads\n", peak, threads);
  const std::map<std::string, void (*)(Net&)> nets{{"resnet18", resnet18}, {"resnet50", resnet50}, {"mobilenet_v2", mobilenet_v2}, {"squeezenet", squeezenet}};
  if (nets.count(what)) return net(bench, what, nets.at(what), threads, rounds, profile), 0;
  for (const Layer& l : {Layer{64, 64, 3, 1, 56}, {128, 128, 3, 1, 28}, {256, 256, 3, 1, 14}, {512, 512, 3, 1, 7}, {128, 128, 3, 2, 56}, {256, 256, 3, 2, 28}, {512, 512, 3, 2, 14}})
    for (const bool winograd : {false, true}) layer(bench, l, threads, rounds, peak, winograd);
  for (const Layer& l : {Layer{64, 256, 1, 1, 56}, {256, 64, 1, 1, 56}, {128, 512, 1, 1, 28}, {512, 128, 1, 1, 28}, {256, 1024, 1, 1, 14}, {1024, 256, 1, 1, 14}, {512, 2048, 1, 1, 7}, {2048, 512, 1, 1, 7}})
    layer(bench, l, threads, rounds, peak, true);
}
