#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# if_cpu_has.sh FLAG PROGRAM...: runs the program, or says aloud why not.
flag=$1
shift
grep -qw "$flag" /proc/cpuinfo || { echo "SKIP: this CPU has no $flag"; exit 0; }
exec "$@"
