# SPDX-License-Identifier: Apache-2.0
"""A package as a deployment of Ray Serve."""
from __future__ import annotations

import pathlib

from optima.scale._ray import ray

TYPE_CHECKING = False
if TYPE_CHECKING:  # what only type checkers read is not imported
    import os
    from collections.abc import Iterable
    from typing import Any

    Path = str | os.PathLike[str]


def deployment(package: Path, *, plugins: Path | Iterable[Path] | None = None, batch: int = 1, delay_us: int = 1000, name: str | None = None, **options: Any) -> Any:
    """An application for ray.serve.run: replicas that run a package. Its handle: await handle.remote({name: array}) -> {name: array}.

    batch, delay_us: as of optima.serve.Server, for packages with an open first dim: Ray Serve hands calls over together. options: of
    ray.serve.deployment (num_replicas, ray_actor_options, ...). HTTP by the Open Inference Protocol is optima.serve's. Raises optima.Error
    without Ray."""
    serve = ray("serve")

    class Optima:
        def __init__(self, folder, folders):
            from optima import run_package
            from optima.package import Package
            self.package = Package(folder, plugins=folders)
            run_package.load_here(self.package)

        async def __call__(self, arrays):
            import asyncio
            answer = await (self.together(arrays) if batch > 1 else asyncio.to_thread(self.package.run, arrays))
            if isinstance(answer, Exception):
                raise answer
            return answer

        @serve.batch(max_batch_size=max(batch, 1), batch_wait_timeout_s=delay_us / 1e6)
        async def together(self, calls):
            """One run for calls of the same other dims; where that fails each alone. A failed call's answer is its error."""
            import asyncio
            return await asyncio.to_thread(answers_of, self.package, calls)

    return serve.deployment(Optima, name=name or "optima", **options).bind(str(pathlib.Path(package).expanduser().absolute()), plugins)


def answers_of(package, calls):
    import numpy as np
    from optima.run_package import checked_inputs
    groups, answers = {}, [None] * len(calls)
    for i, arrays in enumerate(calls):
        try:
            arrays = checked_inputs(package.inputs, arrays)
            rows = {a.shape[:1] for a in arrays.values()}
            key = (i,) if len(rows) != 1 or rows == {()} else tuple((n, a.shape[1:]) for n, a in arrays.items())
            groups.setdefault(key, []).append((i, arrays))
        except Exception as error:
            answers[i] = error
    for members in groups.values():
        try:
            made = package.run({n: np.concatenate([a[n] for _, a in members]) for n in members[0][1]}) if len(members) > 1 else package.run(members[0][1])
            at = 0
            for i, arrays in members:
                rows = len(next(iter(arrays.values()))) if len(members) > 1 else None
                answers[i] = {n: v[at:at + rows] for n, v in made.items()} if rows is not None else made
                at += rows or 0
        except Exception:
            for i, arrays in members:
                try:
                    answers[i] = package.run(arrays)
                except Exception as error:
                    answers[i] = error
    return answers
