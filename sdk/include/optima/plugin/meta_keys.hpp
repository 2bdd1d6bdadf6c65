// SPDX-License-Identifier: Apache-2.0
// optima/plugin/meta_keys.hpp: keys of Sink::meta() that the host reads; all others are the plugin's own. Not included by plugin.hpp.
#pragma once

namespace optima::sdk {
inline namespace v0_1 {

/// How far results may lie from exact ones, as a share of an output's largest element: what --check holds a package's self-test to and
/// compare a package without --atol, the largest of its subgraphs. A number's text, above 1e-4 (which holds without it) and up to 0.1. For processors that compute floats in less than f32.
inline constexpr const char* kMetaTolerance = "optima.tolerance";

}  // namespace v0_1
}  // namespace optima::sdk
