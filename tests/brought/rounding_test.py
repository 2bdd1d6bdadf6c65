# SPDX-License-Identifier: Apache-2.0
"""Products by codes in blocks whose activations the model allows to be rounded to 8 bits (MatMulNBits with accuracy_level 4), at several numbers of rows, and what is said of it."""
from support import *

K, N, BLOCK = 256, 40, 32
MATRIX = np.random.default_rng(1).integers(0, 256, (N, K // BLOCK, BLOCK // 2), np.uint8)
SCALES = np.random.default_rng(2).random((N, K // BLOCK), np.float32) * np.float32(0.02)
NOTE = "1 product may round what it reads to 8 bits, as the model allows"


def product(**attributes):
    made = node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=K, N=N, bits=4, block_size=BLOCK, **attributes)
    return model([made], [value("x", F, ["n", K])], [value("y", F, ["n", N])], [constant("w", MATRIX, np.uint8), constant("s", SCALES.reshape(-1), np.float32)],
                 imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir=10)


def exact(x):
    codes = np.stack([MATRIX & 15, MATRIX >> 4], -1).reshape(N, K // BLOCK, BLOCK).astype(np.float64) - 8
    return x.astype(np.float64) @ (codes * SCALES[..., None]).reshape(N, K).T


class Rounding(Case):
    def far(self, package, rows):
        """How far answers lie from those of doubles, of their scale."""
        x = floats(rows, K)
        answers = package.run({"x": x})
        self.assertIsInstance(answers, dict, answers)
        return float(np.abs(answers["y"] - exact(x)).max() / np.abs(exact(x)).max())

    def test_products_round_where_the_model_allows_it(self):
        package = Package(product(accuracy_level=4), "--self-test", device=None)
        self.assertEqual(package.code, 0, package.said)
        self.assertIn(NOTE, package.said)
        for rows in (1, 5, 9, 20):
            self.assertLess(self.far(package, rows), 2e-2)
        _, said = host("explain", package.folder / "out/m")
        self.assertIn(NOTE, said)

    def test_products_stay_floats_where_it_does_not_or_the_user_says_so(self):
        for attributes, options in (({}, ()), ({"accuracy_level": 1}, ()), ({"accuracy_level": 4}, ("--option", "llvm_cpu.rounds_to_bytes=false"))):
            package = Package(product(**attributes), *options, device=None)
            self.assertEqual(package.code, 0, package.said)
            self.assertEqual(NOTE in package.said, bool(options))
            for rows in (1, 9):
                self.assertLess(self.far(package, rows), 1e-5)


if __name__ == "__main__":
    main()
