# SPDX-License-Identifier: Apache-2.0
"""What stands before and behind models of sound and of pictures that move: spectra, mel filters, grids; of open sizes, on whatever device is there."""
from support import *


class Signals(Case):
    def test_a_mel_spectrogram(self):
        numbers = [constant(n, v) for n, v in (("step", 160), ("bins", 20), ("dft", 400), ("rate", 16000), ("size", 400))]
        edges = [constant("low", 20, np.float32), constant("high", 7600, np.float32), constant("least", 1e-5, np.float32), constant("channel", [2])]
        nodes = [node("Unsqueeze", ["sound", "channel"], ["x"]), node("HannWindow", ["size"], ["window"]), node("STFT", ["x", "step", "window"], ["spectrum"]),
                 node("ReduceSumSquare", ["spectrum"], ["power"], axes=[3], keepdims=0), node("MelWeightMatrix", ["bins", "dft", "rate", "low", "high"], ["filters"]),
                 node("MatMul", ["power", "filters"], ["mel"]), node("Max", ["mel", "least"], ["some"]), node("Log", ["some"], ["y"])]
        made = model(nodes, [value("sound", F, ["batch", "samples"])], [value("y")], numbers + edges)
        self.agree("frames of 25 ms", made, *[{"sound": floats(b, n)} for b, n in ((1, 400), (2, 1000), (1, 4000), (3, 559))], device=None)

    def test_a_filter_in_the_frequencies(self):
        nodes = [node("DFT", ["x", "", "axis"], ["spectrum"], onesided=1), node("Mul", ["spectrum", "gain"], ["shaped"]), node("DFT", ["shaped", "", "axis"], ["y"], onesided=1, inverse=1)]
        made = model(nodes, [value("x", F, ["n", "t", 1])], [value("y")], [constant("axis", 1), constant("gain", 0.5, np.float32)], opset=20, ir=9)
        self.agree("there and back", made, *[{"x": floats(n, t, 1)} for n, t in ((1, 2), (3, 64), (2, 90), (1, 74))], device=None)

    def test_a_picture_turned_by_what_is_computed(self):
        nodes = [node("Shape", ["x"], ["size"]), node("AffineGrid", ["theta", "size"], ["grid"]), node("GridSample", ["x", "grid"], ["y"], mode="linear", padding_mode="border")]
        made = model(nodes, [value("x", F, ["n", 3, "h", "w"]), value("theta", F, ["n", 2, 3])], [value("y")], opset=20, ir=9)
        self.agree("a spatial transformer", made, *[{"x": floats(n, 3, h, w), "theta": floats(n, 2, 3)} for n, h, w in ((1, 4, 5), (2, 7, 3), (1, 16, 16))], device=None)

    def test_pictures_resized_by_scales_that_are_no_whole_numbers(self):
        """Sizes and positions follow from arithmetic in floats: 10 by 0.7 is 7, pixel 6 by 1.2 is pixel 5; and what is nearly a half is one."""
        def resize(scales, sizes, opset, **how):
            nodes = [node("Resize", ["x", "", "s"], ["y"], **how)]
            return model(nodes, [value("x", F, [1, 2, *sizes])], [value("y")], [constant("s", [1, 1, *scales], np.float32)], opset=opset, ir=8)
        floor = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        for scales in ((0.7, 1.2), (1.3, 2.6), (0.3, 0.9), (1.01, 1.05)):
            for how in ({}, floor, {"nearest_mode": "round_prefer_ceil"}, {"mode": "linear"}):
                for device in (None, "reference/REF:0"):
                    inputs = [{"x": floats(1, 2, h, w)} for h, w in ((10, 20), (30, 7), (100, 3))]
                    self.agree(f"open, by {scales}, {how}, {device}", resize(scales, ("h", "w"), 13, **how), *inputs, device=device)
            self.agree(f"fixed, by {scales}", resize(scales, (10, 20), 19, mode="linear"), {"x": floats(1, 2, 10, 20)}, device=None)


if __name__ == "__main__":
    main()
