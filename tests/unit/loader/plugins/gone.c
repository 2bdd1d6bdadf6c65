/* SPDX-License-Identifier: Apache-2.0
 * A shared library that is no plugin; as libgone.so it is what a plugin needs and does not find. */
int optima_test_gone(void);
__attribute__((visibility("default"))) int optima_test_gone(void) { return 0; }
