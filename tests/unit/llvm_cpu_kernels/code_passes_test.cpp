// SPDX-License-Identifier: Apache-2.0
// Kernels on codes over random shapes: tables, passages between layouts, quantization on the way, pools, picked pixels. What lies behind the
// last channel holds 0xFF, which is NaN among floats.
#include "tests/unit/llvm_cpu_kernels/harness.hpp"

#include "plugins/llvm_cpu/kernels/ends.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"
#include "plugins/llvm_cpu/kernels/pool_codes.hpp"
#include "plugins/llvm_cpu/kernels/table.hpp"

using namespace kernel_test;

namespace {

struct Shape {
  int64_t N = pick(1, 2), C = pick(1, 5) == 1 ? pick(1, 4) : pick(5, 70), P = coin() ? pick(1, 20) : pick(60, 150), more = coin() ? 16 : 0;
  int64_t pixel() const { return C <= 4 ? 4 : (C + 15) / 16 * 16 + more; }
  int64_t units() const { return N * ((P + k::kStrip - 1) / k::kStrip); }
  int64_t plain(int64_t n, int64_t c, int64_t p) const { return (n * C + c) * P + p; }
  int64_t last(int64_t n, int64_t c, int64_t p) const { return (n * P + p) * pixel() + c; }
  int64_t blocked(int64_t n, int64_t c, int64_t p) const { return ((n * ((C + k::VL - 1) / k::VL) + c / k::VL) * P + p) * k::VL + c % k::VL; }
  int64_t blocked_size() const { return N * ((C + k::VL - 1) / k::VL) * P * k::VL; }
  template <class F>
  void each(F f) const {
    for (int64_t n = 0; n < N; ++n)
      for (int64_t c = 0; c < C; ++c)
        for (int64_t p = 0; p < P; ++p) f(n, c, p);
  }
};

/// Scales, inverses and zero points as kernels/ends.hpp has them.
struct Numbers {
  bool each = coin();
  int64_t count;
  Guarded<float> all;
  explicit Numbers(int64_t C) : count(each ? (C + 15) / 16 * 16 : 1), all(3 * count) {
    for (int64_t i = 0; i < count; ++i) all[i] = real(0.005f, 0.1f), all[count + i] = 1 / all[i], all[2 * count + i] = static_cast<float>(pick(-20, 20));
  }
  float scale(int64_t c) const { return all[each ? c : 0]; }
  float zero(int64_t c) const { return all[2 * count + (each ? c : 0)]; }
};

int code_of(float x, float scale, float zero, int low, int high) {
  const double code = std::nearbyint(static_cast<double>(x / scale)) + static_cast<double>(zero);
  return std::isnan(x) ? low : static_cast<int>(std::fmin(high, std::fmax(low, code)));
}
float rough() { return pick(0, 40) == 0 ? NAN : pick(0, 40) == 0 ? INFINITY : real(-20, 20); }

}  // namespace

TEST_CASE("bytes through a table, contiguous and in rows with gaps") {
  for (int i = 0; i < rounds(200); ++i) {
    const bool rows = coin();
    const int64_t piece = coin() ? pick(1, 40) : pick(60, 300), units = pick(1, 4), bytes = rows ? piece * units : piece * units - pick(0, piece - 1);
    const int64_t from = rows ? piece + pick(0, 9) : piece, to = rows ? piece + pick(0, 9) : piece;
    const auto in = integers<uint8_t>(rows ? (units - 1) * from + piece : bytes, 0, 255), table = integers<uint8_t>(256, 0, 255);
    const int64_t size = rows ? (units - 1) * to + piece : bytes;
    const auto out = run<uint8_t>(size, units, 0, [&](uint8_t* o, int64_t u0, int64_t u1, char* s) {
      void* args[] = {(void*)in.data(), (void*)table.data(), o};
      k_table({k::Lookup::Shuffle, bytes, piece, from, to}, args, u0, u1, s);
    });
    for (int64_t b = 0; b < bytes; ++b) CHECK(out[b / piece * to + b % piece] == table[in[b / piece * from + b % piece]]);
  }
}

TEST_CASE("bytes to channels last and back") {
  for (int i = 0; i < rounds(200); ++i) {
    const Shape s;
    const int64_t flip = coin() ? 0x80 : 0;
    const auto in = integers<uint8_t>(s.N * s.C * s.P, 0, 255);
    const auto last = run<uint8_t>(s.N * s.P * s.pixel(), s.units(), 0, [&](uint8_t* o, int64_t u0, int64_t u1, char* x) {
      void* args[] = {(void*)in.data(), o};
      k_to_last({1, s.C, s.P, s.pixel(), flip}, args, u0, u1, x);
    });
    s.each([&](int64_t n, int64_t c, int64_t p) { CHECK(last[s.last(n, c, p)] == (in[s.plain(n, c, p)] ^ flip)); });
    if (s.more && s.C > 4)
      for (int64_t p = 0; p < s.N * s.P; ++p) CHECK(last[p * s.pixel() + s.pixel() - 1] == 0xFF);  // a neighbour's
    const auto back = run<uint8_t>(s.N * s.C * s.P, s.units(), 0, [&](uint8_t* o, int64_t u0, int64_t u1, char* x) {
      void* args[] = {(void*)last.data(), o};
      k_from_last({1, s.C, s.P, s.pixel(), flip}, args, u0, u1, x);
    });
    s.each([&](int64_t n, int64_t c, int64_t p) { CHECK(back[s.plain(n, c, p)] == in[s.plain(n, c, p)]); });
  }
}

TEST_CASE("floats become codes with channels last in one pass, from plain and blocked ones") {
  for (int i = 0; i < rounds(200); ++i) {
    Shape s;
    const Numbers numbers(s.C);
    const bool with_sign = coin();
    const int low = with_sign ? -128 : 0, high = with_sign ? 127 : 255;
    const int64_t flip = coin() ? 0x80 : 0;
    Guarded<float> plain(s.N * s.C * s.P), blocked(s.blocked_size());
    s.each([&](int64_t n, int64_t c, int64_t p) { blocked[s.blocked(n, c, p)] = plain[s.plain(n, c, p)] = rough(); });
    const auto a = run<uint8_t>(s.N * s.P * s.pixel(), s.units(), 0, [&](uint8_t* o, int64_t u0, int64_t u1, char* x) {
      void* args[] = {(void*)plain.data(), (void*)numbers.all.data(), o};
      k_quantize_to_last({s.C, s.P, s.pixel(), low, high, flip, numbers.each}, args, u0, u1, x);
    });
    const auto b = run<uint8_t>(s.N * s.P * s.pixel(), s.units(), 0, [&](uint8_t* o, int64_t u0, int64_t u1, char* x) {
      void* args[] = {(void*)blocked.data(), (void*)numbers.all.data(), o};
      k_quantize_blocked({s.C, s.P, s.pixel(), low, high, flip, numbers.each}, args, u0, u1, x);
    });
    s.each([&](int64_t n, int64_t c, int64_t p) {
      const int want = code_of(plain[s.plain(n, c, p)], numbers.scale(c), numbers.zero(c), low, high);
      CHECK(a[s.last(n, c, p)] == static_cast<uint8_t>(want ^ static_cast<int>(flip)));
      CHECK(b[s.last(n, c, p)] == a[s.last(n, c, p)]);
    });
  }
}

TEST_CASE("codes with channels last become floats in one pass, plain and blocked ones") {
  for (int i = 0; i < rounds(200); ++i) {
    const Shape s;
    const Numbers numbers(s.C);
    const bool with_sign = coin();
    const int64_t flip = coin() ? 0x80 : 0;
    const auto in = integers<uint8_t>(s.N * s.P * s.pixel(), 0, 255);
    const auto plain = run<float>(s.N * s.C * s.P, s.units(), 0, [&](float* o, int64_t u0, int64_t u1, char* x) {
      void* args[] = {(void*)in.data(), (void*)numbers.all.data(), o};
      k_dequantize_from_last({s.C, s.P, s.pixel(), with_sign, flip, numbers.each}, args, u0, u1, x);
    });
    const auto blocked = run<float>(s.blocked_size(), s.units(), 0, [&](float* o, int64_t u0, int64_t u1, char* x) {
      void* args[] = {(void*)in.data(), (void*)numbers.all.data(), o};
      k_dequantize_to_blocked({s.C, s.P, s.pixel(), with_sign, flip, numbers.each}, args, u0, u1, x);
    });
    s.each([&](int64_t n, int64_t c, int64_t p) {
      const auto byte = static_cast<uint8_t>(in[s.last(n, c, p)] ^ flip);
      const float code = with_sign ? static_cast<float>(static_cast<int8_t>(byte)) : static_cast<float>(byte);
      CHECK(plain[s.plain(n, c, p)] == (code - numbers.zero(c)) * numbers.scale(c));
      CHECK(blocked[s.blocked(n, c, p)] == plain[s.plain(n, c, p)]);
    });
  }
}

TEST_CASE("whole pixels picked by a table") {
  for (int i = 0; i < rounds(100); ++i) {
    const int64_t images = pick(1, 2), size = pick(1, 30), count = pick(1, 40), rows = pick(1, 9), run_ = pick(1, 80), from = run_ + pick(0, 9), to = run_ + pick(0, 9);
    const auto in = integers<uint8_t>(images * size * from, 0, 255);
    const auto index = integers<int32_t>(count, 0, size - 1);
    const auto out = run<uint8_t>(images * count * to, images * ((count + rows - 1) / rows), 0, [&](uint8_t* o, int64_t u0, int64_t u1, char* x) {
      void* args[] = {(void*)in.data(), (void*)index.data(), o};
      k_pick_pixels({images, size, count, rows, run_, from, to}, args, u0, u1, x);
    });
    for (int64_t n = 0; n < images; ++n)
      for (int64_t p = 0; p < count; ++p)
        for (int64_t b = 0; b < run_; ++b) CHECK(out[(n * count + p) * to + b] == in[(n * size + index[p]) * from + b]);
  }
}

TEST_CASE("pools of codes over random windows") {
  for (int i = 0; i < rounds(150); ++i) {
    const int64_t N = pick(1, 2), channels = coin() ? 4 : pick(1, 9) * 16, from = channels + (channels > 4 && coin() ? 16 : 0), to = channels;
    const k::Three in{pick(1, 3), pick(2, 9), pick(2, 9)}, kernel{pick(1, in.d), pick(1, in.h), pick(1, in.w)}, stride{pick(1, 2), pick(1, 3), pick(1, 3)};
    const k::Three begin{0, pick(0, kernel.h - 1), pick(0, kernel.w - 1)}, end{0, pick(0, kernel.h - 1), pick(0, kernel.w - 1)}, one{1, 1, 1};
    const auto size = [](int64_t n, int64_t k, int64_t s, int64_t a, int64_t b) { return (n + a + b - k) / s + 1; };
    const k::Three out{size(in.d, kernel.d, stride.d, 0, 0), size(in.h, kernel.h, stride.h, begin.h, end.h), size(in.w, kernel.w, stride.w, begin.w, end.w)};
    const auto mode = pick_up_to(k::PoolMode::AverageWithPad);
    const bool in_sign = coin(), out_sign = mode == k::PoolMode::Max ? in_sign : coin();
    const int64_t span = coin() ? channels : std::min<int64_t>(64, channels);
    const auto codes = integers<uint8_t>(N * in.d * in.h * in.w * from, 0, 255);
    Guarded<float> steps(5);
    steps[0] = real(0.01f, 0.1f), steps[1] = static_cast<float>(pick(-9, 9)), steps[2] = real(0.01f, 0.1f), steps[3] = 1 / steps[2], steps[4] = static_cast<float>(pick(-9, 9));
    const auto got = run<uint8_t>(N * out.d * out.h * out.w * to, N * out.d * out.h * ((channels + span - 1) / span), 0, [&](uint8_t* o, int64_t u0, int64_t u1, char* x) {
      void* args[] = {(void*)codes.data(), o, (void*)steps.data()};
      k_pool_codes({mode, in, out, kernel, stride, one, begin, end, channels, span, from, to, in_sign, out_sign}, args, u0, u1, x);
    });
    const auto number = [&](uint8_t b) { return in_sign ? static_cast<int>(static_cast<int8_t>(b)) : static_cast<int>(b); };
    Dims at(5, 0);
    const Dims space{N, out.d, out.h, out.w, channels};
    do {
      int most = -999;
      double sum = 0;
      int64_t taps = 0;
      for (int64_t a = 0; a < kernel.d; ++a)
        for (int64_t b = 0; b < kernel.h; ++b)
          for (int64_t c = 0; c < kernel.w; ++c) {
            const int64_t z = at[1] * stride.d + a, y = at[2] * stride.h - begin.h + b, x = at[3] * stride.w - begin.w + c;
            if (y < 0 || y >= in.h || x < 0 || x >= in.w) continue;
            const int code = number(codes[(((at[0] * in.d + z) * in.h + y) * in.w + x) * from + at[4]]);
            most = std::max(most, code), sum += static_cast<double>((static_cast<float>(code) - steps[1]) * steps[0]), ++taps;
          }
      if (mode == k::PoolMode::AverageWithPad) taps = kernel.d * kernel.h * kernel.w;
      const int low = out_sign ? -128 : 0, high = out_sign ? 127 : 255;
      const int want = mode == k::PoolMode::Max ? most : code_of(static_cast<float>(sum / static_cast<double>(taps)), steps[2], steps[4], low, high);
      CHECK(got[(((at[0] * out.d + at[1]) * out.h + at[2]) * out.w + at[3]) * to + at[4]] == static_cast<uint8_t>(want));
    } while (next(at, space));
  }
}

TEST_CASE("floats go to blocks of channels and back, of any number of channels and pixels, and nothing else is touched") {
  for (int i = 0; i < rounds(200); ++i) {
    const Shape s;
    const int64_t units = s.N * ((s.C + k::VL - 1) / k::VL) * ((s.P + k::kStrip - 1) / k::kStrip), lanes = (s.C + k::VL - 1) / k::VL * k::VL;
    const Guarded<float> from = integers<float>(s.N * s.C * s.P, 0, 1000);
    const Guarded<float> there = run<float>(s.blocked_size(), units, 0, [&](float* out, int64_t u0, int64_t u1, char* x) {
      void* args[] = {const_cast<float*>(from.data()), out};
      k_to_blocked({s.C, s.P}, args, u0, u1, x);
    });
    const Guarded<float> back = run<float>(s.N * s.C * s.P, units, 0, [&](float* out, int64_t u0, int64_t u1, char* x) {
      void* args[] = {const_cast<float*>(there.data()), out};
      k_from_blocked({s.C, s.P}, args, u0, u1, x);
    });
    for (int64_t n = 0; n < s.N; ++n)
      for (int64_t c = 0; c < lanes; ++c)
        for (int64_t p = 0; p < s.P; ++p) REQUIRE(there[s.blocked(n, c, p)] == (c < s.C ? from[s.plain(n, c, p)] : 0.f));
    for (int64_t e = 0; e < s.N * s.C * s.P; ++e) REQUIRE(back[e] == from[e]);
  }
}
