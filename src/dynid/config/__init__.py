"""The experiment file: everything particular to one robot and one set of logs."""

from dynid.config.estimation import EstimationTable, PhysicalTable
from dynid.config.excitation import ExcitationTable
from dynid.config.experiment import TABLES, Experiment
from dynid.config.logs import DriveTable, LogTable, QuantityTable
from dynid.config.problems import ExperimentError
from dynid.config.processing import ProcessingTable
from dynid.config.reading import (
    checked_table,
    is_experiment,
    parse_experiment,
    read_experiment,
)
from dynid.config.simulation import SimulationTable

__all__ = [
    "TABLES",
    "DriveTable",
    "EstimationTable",
    "ExcitationTable",
    "Experiment",
    "ExperimentError",
    "LogTable",
    "PhysicalTable",
    "ProcessingTable",
    "QuantityTable",
    "SimulationTable",
    "checked_table",
    "is_experiment",
    "parse_experiment",
    "read_experiment",
]
