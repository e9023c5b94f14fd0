"""Roles of a DLC job: the names of their counts."""

from __future__ import annotations

ROLES = ("master", "chief", "head", "worker", "ps", "evaluator", "graphlearn")
"""In rank order: the leader comes first."""

COUNTS = {
    "worker": ("workers", "worker_count"),
    "master": ("masters", "master_count"),
    "ps": ("ps", "ps_count"),
    "chief": ("chief", "chief_count"),
    "evaluator": ("evaluators", "evaluator_count"),
    "graphlearn": ("graphlearns", "graphlearn_count"),
    "head": ("heads", "head_count"),
}
RESOURCES = ("image", "spec", "cpu", "gpu", "gpu_type", "memory", "shared_memory")

KINDS = {
    "pytorchjob": "PyTorchJob",
    "tfjob": "TFJob",
    "xgboostjob": "XGBoostJob",
    "rayjob": "RayJob",
    "batchjob": "BatchJob",
    "mpijob": "MPIJob",
    "elasticbatchjob": "ElasticBatchJob",
    "oneflowjob": "OneFlowJob",
    "slurmjob": "SlurmJob",
    "custom": "Custom",
}
