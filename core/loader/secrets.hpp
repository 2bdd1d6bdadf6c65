// SPDX-License-Identifier: Apache-2.0
// core/loader: values of options that a manifest calls secret: known here so that nothing a plugin says shows them.
#pragma once

#include <cstddef>
#include <string>

namespace optima {

/// From now on hide_secrets() hides the value. Values under 6 bytes are not looked for: they would be found in innocent words. Any thread.
void keep_secret(const std::string& value);

/// In bytes; 0 while there is none.
size_t longest_secret();

/// The text with each such value replaced by "(secret)". Any thread; costs nothing while there is none.
std::string hide_secrets(std::string text);

}  // namespace optima
