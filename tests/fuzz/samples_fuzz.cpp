// SPDX-License-Identifier: Apache-2.0
// tests/fuzz: representative data with damage: lists, archives, arrays and pictures, also such as change after they were opened. Nothing may crash,
// and every failure is an error of the data that names it.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <random>

#include "tests/support/damage.hpp"
#include "tests/unit/samples/data.hpp"

using namespace optima;
using namespace optima::test;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr int kShare = 5;
#else
constexpr int kShare = 1;
#endif

using Random = std::mt19937_64;

/// Reads the first samples; where everything is sound their types and shapes are the model's.
Status read_some(const Samples& samples, const std::vector<TensorInfo>& inputs) {
  for (uint64_t s = 0; s < std::min<uint64_t>(samples.count(), 5); ++s) {
    OPTIMA_ASSIGN(const std::vector<Tensor> tensors, samples.read(s));
    for (size_t i = 0; i < inputs.size(); ++i) {
      CHECK(tensors[i].dtype == inputs[i].dtype);
      CHECK(tensors[i].shape.size() == inputs[i].shape.size());
    }
    OPTIMA_RETURN_IF_ERROR(samples.shapes(s).status());
  }
  return {};
}

/// A new file in the old one's place: a disk need not hurry to keep what is overwritten.
void replace(const std::string& file, const std::string& bytes) {
  std::filesystem::remove(file);
  put(file, bytes);
}

/// Rounds of damage to one file of sound data, half of them before it is opened and half between opening and reading.
void fuzz(const std::string& source, const std::string& file, const std::vector<TensorInfo>& inputs, int rounds, uint64_t seed) {
  CAPTURE(file);
  Random random(seed);
  const std::string sound = get(file);
  std::map<StatusKind, int> kinds;
  SampleOptions few;
  few.most = 8;
  for (int i = 0; i < rounds / kShare; ++i) {
    const std::string bad = damaged(sound, random);
    if (i % 2) replace(file, bad);
    const Result<Samples> samples = Samples::open(source, inputs, few);
    if (i % 2 == 0) replace(file, bad);
    const Status status = samples.ok() ? read_some(*samples, inputs) : samples.status();
    INFO(status.message());
    CHECK((status.ok() || status.kind() == StatusKind::InvalidInput || status.kind() == StatusKind::Io || status.kind() == StatusKind::Usage));
    ++kinds[status.kind()];
    replace(file, sound);
  }
  CHECK(kinds[StatusKind::InvalidInput] > rounds / kShare / 20);
  MESSAGE(file.substr(file.rfind('/') + 1) << ": of " << rounds / kShare << " " << kinds[StatusKind::Ok] << " read, " << kinds[StatusKind::InvalidInput] << " refused");
}

const std::vector<TensorInfo> kTwo = {input("x", {1, -1}), input("mask", {1, 3}, OPTIMA_F32, {"b", ""})};

}  // namespace

TEST_CASE("damaged lists of files are read or refused") {
  TempFolder t;
  put(t / "a.raw", raw({1, 2})), put(t / "m.raw", raw({5, 6, 7})), put(t / "a.npy", npy({1, 2}));
  put(t / "m.npy", npy({1, 3})), put(t / "all.npz", zip({stored("x.npy", npy({1, 4})), stored("mask.npy", npy({1, 3}))}));
  put(t / "snpe.txt", "# out\n%tensor\nx:=a.raw mask:=m.raw\nmask:=m.raw x:=a.raw\n");
  put(t / "tpu.txt", "a.npy,m.npy\nall.npz\n a.npy , m.npy \n");
  fuzz(t / "snpe.txt", t / "snpe.txt", kTwo, 1000, 1);
  fuzz(t / "tpu.txt", t / "tpu.txt", kTwo, 1000, 2);
  fuzz(t / "tpu.txt", t / "all.npz", kTwo, 1000, 3);
  fuzz(t / "snpe.txt", t / "m.raw", kTwo, 200, 4);
}

TEST_CASE("damaged arrays are read or refused, in folders and stacked") {
  TempFolder t;
  put(t / "npy/1.npy", npy({1, 2})), put(t / "npy/2.npy", npy({1, 3}));
  fuzz(t / "npy", t / "npy/2.npy", {kTwo[0]}, 2000, 5);
  put(t / "npz/1.npz", zip({stored("x.npy", npy({1, 2})), deflated("mask.npy", npy({1, 3}))}));
  fuzz(t / "npz", t / "npz/1.npz", kTwo, 2000, 6);
  put(t / "rows.npy", npy({4, 2}));
  fuzz(t / "rows.npy", t / "rows.npy", {kTwo[0]}, 2000, 7);
  put(t / "rows.npz", zip({stored("x.npy", npy({4, 2})), deflated("mask.npy", npy({4, 1, 3}))}));
  fuzz(t / "rows.npz", t / "rows.npz", kTwo, 2000, 8);
  put(t / "large.npz", zip({deflated("x.npy", npy({2000, 2}))}));
  fuzz(t / "large.npz", t / "large.npz", {kTwo[0]}, 500, 9);
}

TEST_CASE("damaged pictures are read or refused") {
  TempFolder t;
  put(t / "a/1.tga", tga(4, 4, 9));
  fuzz(t.path(), t / "a/1.tga", {input("image", {1, 3, -1, -1})}, 1000, 10);
}
