// SPDX-License-Identifier: Apache-2.0
// tests/fuzz: the image verifier under a mutator of our own; the same images in every run.
//   image_mutate COUNT         verifies COUNT damaged images and walks those accepted
//   image_mutate --seeds DIR   writes the undamaged ones, for libFuzzer
#include <cstdio>
#include <random>
#include <string>

#include "tests/fuzz/image_walk.hpp"
#include "tests/support/sample_images.hpp"
#include "tests/support/seam_host.hpp"

namespace {

// Mostly small numbers at word boundaries, since that is what an image is made of.
void mutate(std::vector<uint8_t>& b, std::mt19937_64& random) {
  static const uint64_t tricky[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0x7FFFFFFFFFFFFFFF, ~uint64_t{0}, ~uint64_t{7}};
  for (uint64_t n = random() % 4 + 1; n; --n) {
    if (b.size() < 16) return;
    const size_t at = random() % (b.size() / 4 - 1) * 4;
    const uint64_t value = random() % 4 ? tricky[random() % 16] : random() % b.size();
    switch (random() % 8) {
      case 0: b[random() % b.size()] ^= static_cast<uint8_t>(1 << random() % 8); break;
      case 1: std::memcpy(&b[at], &value, 8); break;
      case 2: b.resize(random() % b.size()); break;
      case 3: std::memcpy(&b[at], &b[random() % (b.size() / 4) * 4], 4); break;
      default: std::memcpy(&b[at], &value, 4); break;
    }
  }
  const uint64_t size = b.size();
  if (size >= sizeof(optima_image) && random() % 8) std::memcpy(&b[offsetof(optima_image, total_size)], &size, 8);
}

std::vector<optima::image::Bytes> seeds() {
  std::vector<optima::image::Bytes> all;
  all.push_back(optima::image::pack(optima::samples::everything()));
  all.push_back(optima::image::pack(optima::samples::scale_shift({2, 4})));
  all.push_back(optima::image::pack(optima::samples::identity({3})));
  all.push_back(optima::seam::widen(all[0]));
  return all;
}

bool write_seeds(const std::string& folder) {
  bool good = true;
  int k = 0;
  for (const optima::image::Bytes& seed : seeds()) {
    std::FILE* f = std::fopen((folder + "/seed" + std::to_string(k++)).c_str(), "wb");
    good = f && std::fwrite(seed.data(), 1, seed.size(), f) == seed.size() && std::fclose(f) == 0 && good;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--seeds") return write_seeds(argv[2]) ? 0 : 1;
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
  const std::vector<optima::image::Bytes> originals = seeds();
  std::mt19937_64 random(20261120);
  uint64_t good = 0;
  for (uint64_t k = 0; k < count; ++k) {
    const optima::image::Bytes& seed = originals[random() % 8 ? 0 : random() % originals.size()];
    std::vector<uint8_t> bytes(seed.data(), seed.data() + seed.size());
    mutate(bytes, random);
    good += optima::image::accepted(bytes.data(), bytes.size());
  }
  std::printf("%llu images, %llu accepted and walked\n", static_cast<unsigned long long>(count), static_cast<unsigned long long>(good));
  return good > count / 100 && good < count / 2 ? 0 : 1;  // a verifier that accepts nothing, or everything, is broken too
}
