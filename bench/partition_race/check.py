# SPDX-License-Identifier: Apache-2.0
"""Judges partitions, with code that shares nothing with any partitioner."""
import collections

import numpy as np


def judge_parts(graph, part):
    """A whole plan, by node its part in run order: gives accelerator parts, all parts, crossing bytes (a tensor counts once per part
    that reads it and did not make it), and whether some tensor runs backwards, in which case no order of running exists as given."""
    parts = int(part.max(initial=-1)) + 1
    nodes, taken = np.bincount(part, minlength=parts), np.bincount(part, weights=graph.supported, minlength=parts)
    if not ((taken == 0) | (taken == nodes)).all() or not nodes.all():
        raise SystemExit(f"{graph.name}: a part is empty or holds other nodes than the mask says")
    producer, reader = graph.edges()
    cyclic = bool((part[producer] > part[reader]).any())
    return {"accelerator": int((taken > 0).sum()), "total": parts, "bytes": crossing(graph, part), "cyclic": cyclic}


def judge_groups(graph, group):
    """Accelerator parts alone, by node the number of its part, -1 = host; as judge_parts(), with None for what a cycle leaves
    without meaning.

    Host nodes lie in as few parts as these accelerator parts allow: between two of them everything that can run, runs (Kahn's
    order; closures are monotone, so that no choice is better), from both starts; and each of them as early or, if that makes fewer
    bytes cross, as late as it can."""
    if not ((group >= 0) == graph.supported).all():
        raise SystemExit(f"{graph.name}: a part holds other nodes than the mask says")
    host = np.flatnonzero(group < 0)
    piece = group.copy()
    parts = int(group.max(initial=-1)) + 1
    piece[host] = parts + np.arange(len(host))  # until they are joined, every host node is a piece of its own
    runs = [run for run in (schedule(graph, piece, parts, host_first) for host_first in (True, False)) if run]
    if not runs:
        return {"accelerator": len(np.unique(group[group >= 0])), "total": None, "bytes": None, "cyclic": True}
    fewest = min(total for total, _ in runs)
    plans = [plan for total, part in runs if total == fewest for plan in (part, host_late(graph, part))]
    return min((judge_parts(graph, plan) for plan in plans), key=lambda verdict: verdict["bytes"])


def host_late(graph, part):
    """Every host node in the last host part before its readers, where that leaves no part empty."""
    late = part.copy()
    on_host = np.zeros(int(part.max(initial=-1)) + 1, bool)
    on_host[part[~graph.supported]] = True
    last_host = np.maximum.accumulate(np.where(on_host, np.arange(len(on_host)), -1)).tolist()
    limit = np.full(graph.nodes, len(on_host) - 1).tolist()
    producers, place = graph.producers(), late.tolist()
    for node in range(graph.nodes - 1, -1, -1):
        if not graph.supported[node]:
            place[node] = last_host[limit[node]]
        for producer in producers[node]:
            limit[producer] = min(limit[producer], place[node])
    late = np.asarray(place)
    return late if len(np.unique(late)) == len(on_host) else part


def schedule(graph, piece, parts, host_first):
    """(number of parts, part of every node), or None when the pieces wait for each other."""
    producer, reader = (piece[end] for end in graph.edges())
    between = producer != reader
    edges = np.unique(np.stack([producer[between], reader[between]], 1), axis=0)
    count = int(piece.max(initial=-1)) + 1
    first = np.searchsorted(edges[:, 0], np.arange(count + 1)).tolist()
    after, waits = edges[:, 1].tolist(), np.bincount(edges[:, 1], minlength=count).tolist()
    present = np.unique(piece).tolist()
    ready = {True: collections.deque(), False: collections.deque()}  # by: is it on the host
    for p in present:
        if not waits[p]:
            ready[p >= parts].append(p)
    order, made, done, host = np.empty(count, np.int64), 0, 0, host_first
    while ready[True] or ready[False]:
        ran = made
        while ready[host]:
            p = ready[host].popleft()
            order[p] = made
            made += not host  # an accelerator piece is a part, a run of host pieces is one
            done += 1
            for k in range(first[p], first[p + 1]):
                waits[after[k]] -= 1
                if not waits[after[k]]:
                    ready[after[k] >= parts].append(after[k])
            ran = -1
        made += host and ran < 0
        host = not host
    return (made, order[piece]) if done == len(present) else None


def crossing(graph, part):
    """Bytes of tensors, each once per part that reads it and did not make it."""
    tensors = np.repeat(np.arange(len(graph.bytes)), np.diff(graph.first_reader))
    producer, _ = graph.edges()
    away = part[producer] != part[graph.readers]
    pairs = np.unique(np.stack([tensors[away], part[graph.readers[away]]], 1), axis=0)
    return int(graph.bytes[pairs[:, 0]].sum())


def self_test(from_lists):
    """The checker finds what it is there for: an accelerator part that reads from a host node which reads from it, and a legal one."""
    graph = from_lists("enclosed", [True, False, True], [[(8, [1, 2])], [(4, [2])], [(2, [])]])
    assert judge_groups(graph, np.array([0, -1, 0]))["cyclic"] and judge_parts(graph, np.array([1, 0, 2]))["cyclic"]
    assert judge_groups(graph, np.array([0, -1, 1])) == {"accelerator": 2, "total": 3, "bytes": 8 + 8 + 4, "cyclic": False}
