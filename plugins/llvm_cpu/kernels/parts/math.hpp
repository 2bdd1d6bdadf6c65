// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: single-precision functions on whole vectors, without libm. Hot ones compute in float, rare ones in double.
//
// Errors are measured by tests/unit/llvm_cpu_kernels against libm in double and asserted there: exp, log, tanh, sigmoid, erf,
// sin, cos stay within 3 units in the last place, functions that go through double within 1. Infinities, NaN, zeros and
// denormals follow C99. Polynomials are minimax fits (weighted least squares, Lawson's iteration) of the function named.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

namespace k {

typedef double dvec __attribute__((vector_size(VW * 8)));
typedef int64_t lvec __attribute__((vector_size(VW * 8)));

template <class To, class From>
INL To bits_as(From from) {
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
template <class V, class... C>
INL V poly(V x, double first, C... rest) {
  if constexpr (sizeof...(rest) == 0) return V{} + first;
  else return poly(x, rest...) * x + first;
}
// Float coefficients are rounded here, not widened there.
template <class... C>
INL vec polyf(vec x, float first, C... rest) {
  if constexpr (sizeof...(rest) == 0) return splat(first);
  else return polyf(x, rest...) * x + first;
}
constexpr float kInf = __builtin_inff();
INL ivec sign_bit(vec x) { return bits_as<ivec>(x) & (ivec{} + INT32_MIN); }
INL vec vabs(vec x) { return bits_as<vec>(bits_as<ivec>(x) & (ivec{} + INT32_MAX)); }
INL vec with_sign(vec magnitude, ivec sign) { return bits_as<vec>(bits_as<ivec>(magnitude) | sign); }
INL vec vsqrt(vec x) { return __builtin_elementwise_sqrt(x); }
INL dvec wide(vec x) { return __builtin_convertvector(x, dvec); }
INL vec narrow(dvec x) { return __builtin_convertvector(x, vec); }

// e^r and n of e^x = 2^n e^r, n = round(x / ln 2).
INL vec exp_rest(vec x, ivec& power) {
  const vec t = x * 1.44269504f + 12582912.f;
  const vec n = t - 12582912.f;
  vec r = x - n * 0.693145752f;
  r = r - n * 1.42860677e-6f;
  const vec p = polyf(r, 0.5000000101f, 0.16666512888f, 0.04166618729f, 0.00836959841f, 0.00139517173f);
  power = bits_as<ivec>(t) - 0x4B400000;
  return r * r * p + r + 1.f;
}
// The power is applied in two halves so that denormal results round once.
INL vec vexp(vec x) {
  ivec i;
  const vec e = exp_rest(vmin(splat(89.f), vmax(splat(-104.f), x)), i);
  const ivec half = i >> 1;
  return e * bits_as<vec>((half + 127) << 23) * bits_as<vec>((i - half + 127) << 23);
}
// e^x for x <= 0, 0 where that is no normal number: processors take a hundred times as long for others.
INL vec vexp_flushed(vec x) {
  ivec i;
  const vec least = splat(-87.f), e = exp_rest(vmax(least, x), i);
  return x < least ? vec{} : e * bits_as<vec>((i + 127) << 23);
}

INL vec vlog(vec x) {
  const ivec tiny = x < 1.17549435e-38f;
  const vec y = tiny ? x * 8388608.f : x;
  const ivec b = bits_as<ivec>(y) - 0x3F3504F3;  // mantissa in [sqrt(1/2), sqrt(2))
  const ivec e = (b >> 23) - (tiny & 23);
  const vec f = bits_as<vec>((b & 0x7FFFFF) + 0x3F3504F3) - 1.f;
  const vec n = __builtin_convertvector(e, vec), f2 = f * f;
  vec q = polyf(f, 0.3333331044f, -0.24999986600f, 0.2000222661f, -0.1666925082f, 0.1421865809f, -0.1238434847f,
                0.1187297530f, -0.1178980770f, 0.0691536807f);
  q = q * f2 * f + n * 1.42860677e-6f;
  const vec r = n * 0.693145752f + (f + (q - 0.5f * f2));
  const vec s = x == 0.f ? splat(-kInf) : x < kInf ? r : x;
  return x < 0.f ? splat(__builtin_nanf("")) : s;
}

INL vec vsigmoid(vec x) {
  const vec e = vexp(-vabs(x));
  return (x < 0.f ? e : splat(1.f)) / (1.f + e);
}
INL vec vtanh(vec x) {
  const vec a = vabs(x), z = x * x;
  const vec small = x + x * z * polyf(z, -0.3333332961f, 0.1333315790f, -0.0539405628f, 0.0216663450f, -0.0080919643f, 0.0020646620f);
  const vec big = 1.f - 2.f / (vexp(a + a) + 1.f);
  return a < 0.625f ? small : with_sign(big, sign_bit(x));
}
// Below 1 x P(x^2); above, 1 - exp(fit of log(erfc)).
INL vec verf(vec x) {
  const vec z = x * x, a = vmin(splat(4.f), vabs(x));
  const vec small = x * polyf(z, 1.1283791671f, -0.3761263843f, 0.1128378170f, -0.0268653766f, 0.0052208589f, -0.0008481280f,
                              0.0001124371972f, -9.598257216e-06f);
  const vec big = 1.f - vexp(polyf(a, 0.000188038175f, -1.1295784157f, -0.6332199081f, -0.1084185630f, 0.0252082486f,
                                   -0.0042045592f, 0.00044133589f, -2.1686813087e-05f));
  return vabs(x) < 1.f ? small : with_sign(big, sign_bit(x));
}
// log(1 + u) for u in [0, 1]: what rounding 1 + u lost is added back.
INL vec log1p_unit(vec u) {
  const vec w = 1.f + u;
  return vlog(w) + (u - (w - 1.f)) / w;
}
INL vec vsoftplus(vec x) { return vmax(vec{}, x) + log1p_unit(vexp(-vabs(x))); }
// x times the normal distribution at x: half of erfc(|x| / sqrt 2) is e to the -x^2 / 2 and a fit of the logarithm of the rest over [0, 7].
INL vec vgelu(vec x) {
  const vec u = vmin(splat(7.f), vabs(x));
  const vec rest = polyf(u, -0.6931471825f, -0.7978858948f, 0.1817010492f, -0.03637020290f, 0.004835165571f, -4.684018677e-06f, -0.0001994404532f,
                         5.801526277e-05f, -9.423808478e-06f, 9.424585414e-07f, -5.412174176e-08f, 1.367463476e-09f);
  const vec below = vexp_flushed(rest - 0.5f * x * x);
  return x * (x < 0.f ? below : 1.f - below);
}
INL vec vgelu_tanh(vec x) { return 0.5f * x * (1.f + vtanh(0.79788456f * (x + 0.044715f * x * x * x))); }
INL vec vmish(vec x) { return x * vtanh(vsoftplus(x)); }
INL vec vsilu(vec x) { return x * vsigmoid(x); }
INL vec vexpm1(vec x) {  // for Elu and its kin: exact enough near 0
  const vec t = vtanh(0.5f * x);
  const vec small = 2.f * t / (1.f - t);
  return vabs(x) < 1.f ? small : vexp(x) - 1.f;
}

// Sine of x + quadrant * pi / 2. The argument is reduced in double by pi/2 in two parts: good to |x| = 2^50, bounded beyond.
INL vec vsin_from(vec x, double quadrant) {
  const dvec w = wide(x), n = __builtin_elementwise_rint(w * 0.63661977236758134);
  dvec d = w - n * 1.5707963267948966;
  d = d - n * 6.123233995736766e-17;
  const dvec m = n + quadrant, q = m - 4. * __builtin_elementwise_floor(m * 0.25);  // 0, 1, 2 or 3
  const vec r = narrow(d), z = r * r;
  const vec s = r + r * z * polyf(z, -0.16666666641f, 0.0083333292667f, -0.000198392961f, 2.71793983e-06f);
  const vec c = 1.f - 0.5f * z + z * z * polyf(z, 0.041666666621f, -0.0013888883598f, 2.47994786e-05f, -2.72067864e-07f);
  const ivec odd = __builtin_convertvector((q == 1.) | (q == 3.), ivec);
  const ivec negative = __builtin_convertvector(q >= 2., ivec);
  const vec v = odd ? c : s;
  const vec bounded = v > 1.f ? splat(1.f) : v < -1.f ? splat(-1.f) : v;
  return bits_as<vec>(bits_as<ivec>(bounded) ^ (negative & INT32_MIN));
}
INL vec vsin(vec x) { return x == 0.f ? x : vsin_from(x, 0); }
INL vec vcos(vec x) { return vsin_from(x, 1); }
INL vec vtan(vec x) { return vsin(x) / vcos(x); }

// ---- in double: relative error below 1e-10, rounded once to float

INL dvec dabs(dvec x) { return x < 0. ? -x : x; }
INL dvec dexp(dvec x) {  // for |x| <= 700; clamped beyond, where floats have long overflowed
  x = x < -700. ? dvec{} - 700. : x;
  x = x > 700. ? dvec{} + 700. : x;
  const dvec t = x * 1.4426950408889634 + 6755399441055744.;
  const dvec n = t - 6755399441055744.;
  dvec r = x - n * 0.69314718055994531;
  r = r - n * 2.3190468138462996e-17;
  const dvec p = poly(r, 0.5, 0.166666666666666034, 0.0416666666664122, 0.0083333333746025, 0.00138888889848, 0.0001984118, 2.4801439e-5, 2.76372e-6, 2.765e-7);
  return (r * r * p + r + 1.) * bits_as<dvec>((bits_as<lvec>(t) + 1023) << 52);
}
INL dvec dlog(dvec x) {  // of normal doubles, 0 and infinity; NaN of negative ones
  const lvec root = lvec{} + 0x3FE6A09E667F3BCD, b = bits_as<lvec>(x) - root;
  const dvec m = bits_as<dvec>((b & 0xFFFFFFFFFFFFF) + root), n = __builtin_convertvector(b >> 52, dvec);
  const dvec s = (m - 1.) / (m + 1.), z = s * s;
  const dvec p = poly(z, 0.3333333333794973, 0.19999997792152516, 0.1428605676261216, 0.11087995612487958, 0.09793597640326861);
  const dvec r = n * 0.69314718055994531 + 2. * (s + s * z * p);
  const dvec inf = dvec{} + __builtin_inf();
  const dvec t = x == 0. ? -inf : x < inf ? r : x;
  return x < 0. ? dvec{} + __builtin_nan("") : t;
}
INL dvec datan(dvec x) {
  const dvec a = dabs(x), inverse = 1. / a;
  const lvec outer = a > 1.;
  const dvec t = outer ? inverse : a;
  const lvec far = t > 0.41421356237309503;  // tan(pi / 8)
  const dvec u = far ? (t - 1.) / (t + 1.) : t, z = u * u;
  const dvec p = u + u * z * poly(z, -0.3333333333169533, 0.19999999685322115, -0.14285693579619366, 0.11110449561649108,
                                  -0.09079131864255265, 0.07568497304925909, -0.05890894559264192, 0.030892167676883006);
  const dvec v = far ? p + 0.78539816339744831 : p, w = outer ? 1.5707963267948966 - v : v;
  return x < 0. ? -w : x == 0. ? x : w;
}
INL vec vatan(vec x) { return narrow(datan(wide(x))); }
INL vec vasin(vec x) {
  const dvec w = wide(x);
  return narrow(datan(w / __builtin_elementwise_sqrt((1. - w) * (1. + w))));
}
INL vec vacos(vec x) {
  const dvec w = wide(x), t = datan(__builtin_elementwise_sqrt((1. - w) * (1. + w)) / w);
  return narrow(w < 0. ? t + 3.14159265358979323 : w == 0. ? dvec{} + 1.5707963267948966 : t);
}
INL vec vsinh(vec x) {
  const dvec w = wide(x), z = w * w, e = dexp(dabs(w)), big = 0.5 * (e - 1. / e);
  const dvec small = w + w * z * poly(z, 1. / 6, 1. / 120, 1. / 5040, 1. / 362880);
  return narrow(dabs(w) < 0.3 ? small : w < 0. ? -big : big);
}
INL vec vcosh(vec x) {
  const dvec e = dexp(dabs(wide(x)));
  return narrow(0.5 * (e + 1. / e));
}
INL vec vasinh(vec x) {
  const dvec w = wide(x), a = dabs(w), z = w * w, big = dlog(a + __builtin_elementwise_sqrt(z + 1.));
  const dvec small = w - w * z * poly(z, 1. / 6, -3. / 40, 15. / 336);
  return narrow(a < 0.02 ? small : w < 0. ? -big : big);
}
INL vec vacosh(vec x) {
  const dvec w = wide(x);
  return narrow(dlog(w + __builtin_elementwise_sqrt(w * w - 1.)));
}
INL vec vatanh(vec x) {
  const dvec w = wide(x), z = w * w, small = w + w * z * poly(z, 1. / 3, 1. / 5, 1. / 7);
  return narrow(dabs(w) < 0.02 ? small : 0.5 * dlog((1. + w) / (1. - w)));
}
INL vec vpow(vec x, vec y) {
  const vec rounded = __builtin_elementwise_rint(y);
  const ivec whole = rounded == y, odd = whole & (2.f * __builtin_elementwise_rint(0.5f * y) != y);
  const vec a = vabs(x), p = narrow(dexp(wide(y) * dlog(wide(a))));
  const vec signedp = with_sign(p, sign_bit(x) & odd);
  const vec v = ((x < 0.f) & ~whole & (a < kInf)) ? splat(__builtin_nanf("")) : signedp;
  const ivec one = (y == 0.f) | (x == 1.f) | ((a == 1.f) & (vabs(y) == kInf));
  return one ? splat(1.f) : v;
}
INL vec vmod(vec x, vec y) {  // C's fmod, through double: exact while |x / y| < 2^53
  const dvec a = wide(x), b = wide(y), q = a / b, t = q < 0. ? __builtin_elementwise_ceil(q) : __builtin_elementwise_floor(q);
  const dvec r = a - t * b;
  const vec v = narrow(r);
  const vec whole = ((vabs(y) == kInf) & (vabs(x) < kInf)) ? x : v;
  return with_sign(vabs(whole), sign_bit(x));
}

}  // namespace k
