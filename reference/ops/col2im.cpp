// SPDX-License-Identifier: Apache-2.0
// reference/ops: blocks of columns put back where a window took them from, and added where they overlap.
#include <type_traits>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/ops/window.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {

void col2im(Call& c) {
  Dims to;
  const Window w = shapes::col2im_window(c, to);
  const int64_t planes = to[0] * to[1], taps = count(w.kernel), blocks = count(w.out), plane = count(w.in);
  const Dims step = strides_of(w.in);
  const size_t last = w.rank() - 1;
  const Dims rows(w.out.begin(), w.out.end() - 1);
  with_wide(c.in(0).dtype, [&](auto wide) {
    using W = std::conditional_t<std::is_floating_point_v<decltype(wide)>, double, uint64_t>;  // sums of integers wrap
    const std::vector<W> x = load<W>(c.in(0));
    std::vector<W> out(static_cast<size_t>(count(to)), W{0});
    for (int64_t p = 0; p < planes; ++p) {
      Dims k(w.rank(), 0);
      for (int64_t t = 0; t < taps; ++t, next(k, w.kernel)) {
        const W* from = x.data() + (p * taps + t) * blocks;
        const int64_t first = k[last] * w.dilation[last] - w.begin[last];
        Dims o(last, 0);
        for (int64_t b = 0; b < blocks; b += w.out[last], next(o, rows)) {
          W* row = out.data() + p * plane;
          bool inside = true;
          for (size_t d = 0; d < last; ++d) {
            const int64_t i = o[d] * w.stride[d] + k[d] * w.dilation[d] - w.begin[d];
            inside = inside && i >= 0 && i < w.in[d];
            row += inside ? i * step[d] : 0;
          }
          for (int64_t q = 0, i = first; inside && q < w.out[last]; ++q, i += w.stride[last])
            if (i >= 0 && i < w.in[last]) row[i] += from[b + q];
        }
      }
    }
    c.out(0, store(c.in(0).dtype, to, out));
  });
}

}  // namespace optima::reference::ops
