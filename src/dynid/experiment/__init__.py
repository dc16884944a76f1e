"""The experiment file: everything particular to one robot and one set of logs.

`experiment.Experiment` composes the settings of all rooms; `reading.read_experiment` reads a file;
`first.first_experiment.init` writes a first one, and `log_files.read_log` reads a log with the same guesses.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
