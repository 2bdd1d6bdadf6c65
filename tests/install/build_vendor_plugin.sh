#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a vendor does: installs the SDK from a build folder, copies its example and builds that against the SDK alone, and puts the
# library into a plugin folder. The last line names it.
# Usage: build_vendor_plugin.sh BUILD_FOLDER WORK_FOLDER
#   WORK/sdk (the installed SDK), WORK/src and WORK/build (the plugin's), WORK/plugins/optima_acme_scale_shift.so
set -euo pipefail
build=$1 work=$2
mkdir -p "$work/plugins"
cmake --install "$build" --component sdk --prefix "$work/sdk" >"$work/install.log"
cp -r "$work/sdk/share/optima/examples/vendor_plugin" "$work/src"
env -u CMAKE_PREFIX_PATH cmake -S "$work/src" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/sdk" >"$work/configure.log" 2>&1 ||
  { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
cp "$work/build/lib/optima/plugins/optima_acme_scale_shift.so" "$work/plugins/"
echo "$work/plugins/optima_acme_scale_shift.so"
