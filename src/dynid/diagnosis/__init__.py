"""Why a model leaves what it leaves of the torques: causes with evidence, as findings."""

from dynid.diagnosis.findings import diagnose

__all__ = ["diagnose"]
