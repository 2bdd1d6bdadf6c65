# SPDX-License-Identifier: Apache-2.0
"""What a server counts, in Prometheus' text format."""
import prometheus_client as prometheus


class Metrics:
    """Counters of one server. Of the event loop's thread; labels are names of models that are served, never what a client wrote."""

    def __init__(self):
        self.registry = prometheus.CollectorRegistry()
        kept = {"registry": self.registry}
        self.requests = prometheus.Counter("optima_requests", "Inference requests that were answered.", ["model"], **kept)
        self.failures = prometheus.Counter("optima_failures", "Inference requests that were answered with an error.", ["model", "status"], **kept)
        self.latency = prometheus.Histogram("optima_latency_seconds", "From a whole request to its answer.", ["model"], **kept,
                                            buckets=(.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30))
        self.rows = prometheus.Histogram("optima_batch_rows", "Rows of a run: 1 for models without an open batch.", ["model"], **kept,
                                         buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256))
        self.waiting = prometheus.Gauge("optima_waiting", "Requests under way: coming, waiting for a run, in one, or being answered.", ["model"], **kept)

    def text(self):
        return prometheus.generate_latest(self.registry)
