// SPDX-License-Identifier: Apache-2.0
// Movers over random shapes, steps and element sizes: every element where it belongs, nothing else touched.
#include "tests/unit/llvm_cpu_kernels/harness.hpp"

#include "plugins/llvm_cpu/kernels/gather.hpp"
#include "plugins/llvm_cpu/kernels/move.hpp"
#include "plugins/llvm_cpu/kernels/scan.hpp"

using namespace kernel_test;

namespace {

Dims eight(const Dims& d, int64_t fill) {
  Dims out(8 - d.size(), fill);
  out.insert(out.end(), d.begin(), d.end());
  return out;
}
template <class T>
void copies() {
  for (int i = 0; i < rounds(300); ++i) {
    Dims dims(size_t(pick(1, 5)));
    for (int64_t& d : dims) d = pick(1, 6);
    if (coin()) dims.back() = pick(1, 70);
    if (coin() && dims.size() > 1) dims[dims.size() - 2] = pick(1, 70);
    // A permutation of the source, and a target with gaps.
    Dims order(dims.size()), step(dims.size()), target(dims.size());
    std::iota(order.begin(), order.end(), 0);
    if (i % 3 == 0 && dims.size() > 1) std::swap(order[dims.size() - 1], order[dims.size() - 2]);
    if (i % 3 == 1) std::shuffle(order.begin(), order.end(), generator());
    int64_t n = 1, m = 1;
    for (size_t q = dims.size(); q-- > 0;) step[size_t(order[q])] = n, n *= dims[size_t(order[q])];
    for (size_t q = dims.size(); q-- > 0;) target[q] = m, m = m * dims[q] + (q == dims.size() / 2 ? pick(0, 2) : 0);
    int64_t first = 0;
    if (i % 5 == 0) first = (dims[0] - 1) * step[0], step[0] = -step[0];
    if (i % 7 == 0) step[0] = 0, first = 0;
    const Guarded<T> from = integers<T>(n, 0, 100);
    std::vector<T> before(static_cast<size_t>(m), T(77));
    const Dims d = eight(dims, 1), s = eight(step, 0), t = eight(target, 0);
    const int64_t split = pick(0, 6), units = std::accumulate(d.begin(), d.begin() + split, int64_t{1}, std::multiplies<>());
    const Guarded<T> got = run<T>(m, units, 0, [&](T* out, int64_t u0, int64_t u1, char* x) {
      void* args[] = {const_cast<T*>(from.data()) + first, out};
      k_move({.bytes = int64_t(sizeof(T)), .split = split, .d = literal<8>(d), .s = literal<8>(s), .t = literal<8>(t)}, args, u0, u1, x);
    }, before.data());
    std::vector<T> want = before;
    Dims at(dims.size(), 0);
    do {
      int64_t a = first, b = 0;
      for (size_t q = 0; q < dims.size(); ++q) a += at[q] * step[q], b += at[q] * target[q];
      want[size_t(b)] = from[a];
    } while (next(at, dims));
    REQUIRE(std::equal(want.begin(), want.end(), got.data()));
  }
}

}  // namespace

TEST_CASE("strided copies put every element in its place, for 1, 2, 4 and 8 bytes") {
  copies<uint8_t>();
  copies<uint16_t>();
  copies<uint32_t>();
  copies<uint64_t>();
}

TEST_CASE("fill writes all elements and no more") {
  for (int i = 0; i < rounds(100); ++i) {
    const int64_t n = pick(1, 100), chunk = pick(1, 30);
    uint16_t value = 513;
    const Guarded<uint16_t> got = run<uint16_t>(n, k::cdiv(n, chunk), 0, [&](uint16_t* out, int64_t u0, int64_t u1, char* x) {
      void* args[] = {&value, out};
      k_fill({.bytes = 2, .count = n, .chunk = chunk}, args, u0, u1, x);
    });
    for (int64_t q = 0; q < n; ++q) REQUIRE(got[q] == 513);
  }
}

TEST_CASE("trilu keeps one triangle") {
  for (int i = 0; i < rounds(100); ++i) {
    const int64_t batch = pick(1, 2), rows = pick(1, 9), columns = pick(1, 9), diagonal = pick(-10, 10), upper = pick(0, 1);
    const Guarded<int32_t> in = integers<int32_t>(batch * rows * columns, 1, 9);
    const Guarded<int32_t> got = run<int32_t>(in.size(), batch * rows, 0, [&](int32_t* out, int64_t u0, int64_t u1, char* x) {
      void* args[] = {const_cast<int32_t*>(in.data()), out};
      k_trilu({.bytes = 4, .upper = upper, .diagonal = diagonal, .rows = rows, .columns = columns}, args, u0, u1, x);
    });
    for (int64_t q = 0; q < in.size(); ++q) {
      const int64_t r = q / columns % rows, c = q % columns;
      REQUIRE(got[q] == ((upper ? c >= r + diagonal : c <= r + diagonal) ? in[q] : 0));
    }
  }
}

TEST_CASE("one-hot marks one depth, negative indices count from the end, others mark nothing") {
  for (int i = 0; i < rounds(100); ++i) {
    const int64_t outer = pick(1, 5), depth = pick(1, 6), inner = pick(1, 4);
    const Guarded<int64_t> index = integers<int64_t>(outer * inner, -8, 8);
    float values[] = {-1, 2};
    const Guarded<float> got = run<float>(outer * depth * inner, outer, 0, [&](float* out, int64_t u0, int64_t u1, char* x) {
      void* args[] = {const_cast<int64_t*>(index.data()), values, out};
      k_one_hot({.bytes = 4, .index_bytes = 8, .depth = depth, .inner = inner}, args, u0, u1, x);
    });
    for (int64_t q = 0; q < got.size(); ++q) {
      int64_t want = index[q / (depth * inner) * inner + q % inner];
      want = want < 0 ? want + depth : want;
      REQUIRE(got[q] == (want == q / inner % depth ? 2 : -1));
    }
  }
}

TEST_CASE("range counts") {
  int64_t start = 5, delta = -2;
  Guarded<int64_t> out(4);
  void* args[] = {&start, &delta, out.data()};
  k_range({.dtype = OPTIMA_I64, .count = 4}, args, 0, 1, nullptr);
  CHECK(std::vector<int64_t>(out.begin(), out.end()) == std::vector<int64_t>{5, 3, 1, -1});
}

TEST_CASE("gather takes rows, reads nothing outside, and tells of an index out of range") {
  for (int i = 0; i < rounds(200); ++i) {
    const int64_t outer = pick(1, 4), size = pick(1, 8), count = pick(1, coin() ? 8 : 70), inner = coin() ? 1 : pick(1, 20), rows = pick(1, coin() ? 5 : 90);
    const Guarded<float> data = reals(outer * size * inner);
    const bool is_short = coin();
    Guarded<int64_t> index = coin() ? integers<int64_t>(count, -12, 12) : integers<int64_t>(count, -size, size - 1);
    if (coin()) for (int64_t& at : index) at = at < 0 ? at + size : at;  // none counts from the end
    if (coin()) index[pick(0, count - 1)] = pick(-12, 12);
    Guarded<int32_t> shorter(count);
    std::copy(index.begin(), index.end(), shorter.data());
    const Guarded<float> got = run<float>(outer * count * inner, k::cdiv(outer * count, rows), 0, [&](float* out, int64_t u0, int64_t u1, char*) {
      void* args[] = {const_cast<float*>(data.data()), is_short ? static_cast<void*>(shorter.data()) : index.data(), out};
      int64_t header[8] = {};
      k_gather({.bytes = 4, .index_bytes = is_short ? 4 : 8, .rows = rows, .outer = outer, .size = size, .count = count, .inner = inner}, args, u0, u1, reinterpret_cast<char*>(header + 8));
      bool is_outside = false;
      for (int64_t q = u0 * rows; q < std::min(outer * count, u1 * rows); ++q) is_outside = is_outside || index[q % count] < -size || index[q % count] >= size;
      REQUIRE(header[2] == is_outside);
      REQUIRE(header[4] == (is_outside ? size : 0));
      REQUIRE((!is_outside || header[3] < -size || header[3] >= size));
    });
    for (int64_t q = 0; q < got.size(); ++q) {
      int64_t at = index[q / inner % count];
      at = std::clamp<int64_t>(at < 0 ? at + size : at, 0, size - 1);
      REQUIRE(got[q] == data[(q / inner / count * size + at) * inner + q % inner]);
    }
  }
}

TEST_CASE("gather elements and scatter elements follow their indices on one axis") {
  for (int i = 0; i < rounds(200); ++i) {
    Dims dims(size_t(pick(1, 4))), small;
    for (int64_t& d : dims) d = pick(1, 6);
    if (coin()) dims.back() = pick(1, 70);
    const size_t axis = size_t(pick(0, int64_t(dims.size()) - 1));
    for (int64_t d : dims) small.push_back(coin() ? d : pick(1, d));
    const Dims step = strides(dims);
    Dims moving = step;
    moving[axis] = 0;
    const Guarded<int32_t> data = integers<int32_t>(product(dims), 0, 99), updates = integers<int32_t>(product(small), 100, 199);
    Guarded<int32_t> index = integers<int32_t>(product(small), -dims[axis], dims[axis] - 1);
    const int64_t row = pick(1, 3) * small.back();
    if (coin()) for (int64_t q = 0; q < index.size(); ++q) index[q] = index[q - q % row];  // as repeated along a row
    if (coin()) index[index.size() - 1] = 0, index[index.size() / 2] = 0;                  // but for some
    const Dims d = eight(small, 1), s = eight(moving, 0);
    using Op = k::ScatterOp;
    const Op op = pick_up_to(Op::Min);
    const int64_t chunk = pick(1, coin() ? 9 : 90), lanes = product(small) / small[axis];
    const Guarded<int32_t> got = run<int32_t>(product(small), k::cdiv(product(small), chunk), 0, [&](int32_t* out, int64_t u0, int64_t u1, char* x) {
      void* args[] = {const_cast<int32_t*>(data.data()), const_cast<int32_t*>(index.data()), out};
      k_gather_elements({.bytes = 4, .index_bytes = 4, .chunk = chunk, .size = dims[axis], .step = step[axis], .d = literal<8>(d), .s = literal<8>(s)}, args, u0, u1, x);
    });
    const Guarded<int32_t> scattered = run<int32_t>(data.size(), k::cdiv(lanes, chunk), 0, [&](int32_t* out, int64_t u0, int64_t u1, char* x) {
      void* args[] = {const_cast<int32_t*>(index.data()), const_cast<int32_t*>(updates.data()), out};
      k_scatter_elements({.dtype = OPTIMA_I32, .index_bytes = 4, .op = op, .axis = int64_t(axis + 8 - dims.size()), .chunk = chunk, .size = dims[axis], .step = step[axis], .d = literal<8>(d), .s = literal<8>(s)}, args, u0, u1, x);
    }, data.data());
    std::vector<int32_t> want(data.data(), data.data() + data.size());
    Dims at(dims.size(), 0);
    int64_t q = 0;
    do {
      int64_t from = index[q] < 0 ? (index[q] + dims[axis]) * step[axis] : index[q] * step[axis];
      for (size_t r = 0; r < dims.size(); ++r) from += at[r] * moving[r];
      REQUIRE(got[q] == data[from]);
      int32_t& to = want[size_t(from)];
      const int32_t v = updates[q++];
      to = op == Op::Set ? v : op == Op::Add ? to + v : op == Op::Mul ? int32_t(uint32_t(to) * uint32_t(v)) : op == Op::Max ? std::max(to, v) : std::min(to, v);
    } while (next(at, small));
    REQUIRE(std::equal(want.begin(), want.end(), scattered.data()));
  }
}

TEST_CASE("gather ND and scatter ND follow tuples of indices") {
  for (int i = 0; i < rounds(200); ++i) {
    const int64_t batches = pick(1, 3), count = pick(1, 5), tuple = pick(1, 4), inner = pick(1, 9);
    Dims g(4, 1), p(4, 0);
    int64_t batch = inner;
    for (size_t q = size_t(tuple); q-- > 0;) g[q] = pick(1, 4), p[q] = batch, batch *= g[q];
    const Guarded<float> data = reals(batches * batch);
    Guarded<int64_t> index(batches * count * tuple);
    for (int64_t q = 0; q < index.size(); ++q) index[q] = pick(-g[size_t(q % tuple)], g[size_t(q % tuple)] - 1);
    const auto place = [&](int64_t row) {
      int64_t at = 0;
      for (int64_t q = 0; q < tuple; ++q) at += (index[row * tuple + q] + (index[row * tuple + q] < 0 ? g[size_t(q)] : 0)) * p[size_t(q)];
      return at;
    };
    const Guarded<float> got = run<float>(batches * count * inner, batches * count, 0, [&](float* out, int64_t u0, int64_t u1, char* x) {
      void* args[] = {const_cast<float*>(data.data()), index.data(), out};
      k_gather_nd({.bytes = 4, .index_bytes = 8, .count = count, .batch = batch, .inner = inner, .tuple = tuple, .g = literal<4>(g), .p = literal<4>(p)}, args, u0, u1, x);
    });
    for (int64_t q = 0; q < got.size(); ++q) REQUIRE(got[q] == data[q / inner / count * batch + place(q / inner) + q % inner]);
    const Guarded<float> updates = reals(count * inner);
    const int64_t chunk = pick(1, 4);
    const Guarded<float> scattered = run<float>(batch, k::cdiv(inner, chunk), 0, [&](float* out, int64_t u0, int64_t u1, char* x) {
      void* args[] = {index.data(), const_cast<float*>(updates.data()), out};
      k_scatter_nd({.dtype = OPTIMA_F32, .index_bytes = 8, .op = k::ScatterOp::Add, .chunk = chunk, .count = count, .inner = inner, .tuple = tuple, .g = literal<4>(g),
                    .p = literal<4>(p)}, args, u0, u1, x);
    }, data.data());
    std::vector<float> want(data.data(), data.data() + batch);
    for (int64_t q = 0; q < count * inner; ++q) want[size_t(place(q / inner) + q % inner)] += updates[q];
    REQUIRE(std::equal(want.begin(), want.end(), scattered.data()));
  }
}

TEST_CASE("arg, top and cumulative sum agree with plain loops") {
  for (int i = 0; i < rounds(300); ++i) {
    const int64_t outer = pick(1, 4), len = pick(1, 20), inner = pick(1, 5), smallest = pick(0, 1), last = pick(0, 1), count = pick(1, len);
    const Guarded<float> in = reals(outer * len * inner);
    Guarded<float> x(in.size());
    for (int64_t q = 0; q < in.size(); ++q) x[q] = std::round(in[q] * 3);  // equal elements are frequent
    const auto row = [&](int64_t o, int64_t j) {
      std::vector<std::pair<float, int64_t>> r;
      for (int64_t q = 0; q < len; ++q) r.emplace_back(x[(o * len + q) * inner + j], q);
      std::stable_sort(r.begin(), r.end(), [&](auto a, auto b) { return smallest ? a.first < b.first : a.first > b.first; });
      return r;
    };
    const Guarded<int64_t> best = run<int64_t>(outer * inner, outer, 0, [&](int64_t* out, int64_t u0, int64_t u1, char* s) {
      void* args[] = {x.data(), out};
      k_arg({.dtype = OPTIMA_F32, .smallest = smallest, .last = last, .len = len, .inner = inner}, args, u0, u1, s);
    });
    Guarded<int64_t> at(outer * count * inner);
    const Guarded<float> top = run<float>(outer * count * inner, outer * inner, 0, [&](float* out, int64_t u0, int64_t u1, char* s) {
      void* args[] = {x.data(), out, at.data()};
      k_top({.dtype = OPTIMA_F32, .smallest = smallest, .count = count, .len = len, .inner = inner}, args, u0, u1, s);
    });
    const int64_t exclusive = pick(0, 1), reverse = pick(0, 1);
    const Guarded<float> sums = run<float>(x.size(), outer, 0, [&](float* out, int64_t u0, int64_t u1, char* s) {
      void* args[] = {x.data(), out};
      k_cumsum({.dtype = OPTIMA_F32, .exclusive = exclusive, .reverse = reverse, .len = len, .inner = inner}, args, u0, u1, s);
    });
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t j = 0; j < inner; ++j) {
        const auto r = row(o, j);
        int64_t want = r[0].second;
        for (const auto& [v, q] : r)
          if (last && v == r[0].first) want = std::max(want, q);
        REQUIRE(best[o * inner + j] == want);
        for (int64_t q = 0; q < count; ++q) {
          REQUIRE(top[(o * count + q) * inner + j] == r[size_t(q)].first);
          REQUIRE(at[(o * count + q) * inner + j] == r[size_t(q)].second);
        }
        for (int64_t q = 0; q < len; ++q) {
          float sum = 0;
          for (int64_t w = 0; w < len; ++w)
            if (reverse ? w > q - !exclusive : w < q + !exclusive) sum += x[(o * len + w) * inner + j];
          REQUIRE(sums[(o * len + q) * inner + j] == sum);
        }
      }
  }
}
