# SPDX-License-Identifier: Apache-2.0
"""Greedy decoding: each token is the likeliest one after those before it, and the cache of a step is the next one's input."""
import numpy as np


def empty_cache(inputs, batch):
    """inputs: {name: shape} of a decoder; those of its cache, without a past."""
    return {name: np.zeros((batch, shape[1], 0, shape[3]), np.float32) for name, shape in inputs.items() if name.startswith("past_key_values.")}


def greedy(run, cache, prompt, mask, count):
    """Ids i64[batch, count] and the least lead of a likeliest token over the next one, in spreads of its logits.

    run: inputs by name -> outputs by name. prompt, mask: i64[batch, t], 0 in the mask = padding on the left."""
    ids, chosen, lead = prompt, [], np.inf
    for _ in range(count):
        outputs = run({"input_ids": ids, "attention_mask": mask, **cache})
        logits = np.asarray(outputs["logits"])[:, -1]
        best = np.sort(logits, -1)
        lead = min(lead, float(((best[:, -1] - best[:, -2]) / logits.std(-1)).min()))
        ids = logits.argmax(-1)[:, None]
        chosen.append(ids)
        mask = np.concatenate([mask, np.ones_like(ids)], 1)
        cache = {name: np.asarray(outputs[name.replace("past_key_values", "present")]) for name in cache}
    return np.concatenate(chosen, 1), lead
