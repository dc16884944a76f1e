"""What was measured: `Log` and its settings, readers of log files, drives, time stamps, and processing for a model.

`log.Log` holds arrays; `sources.read_source` reads one from files as `settings.LogSource` states them;
`processing.preparation.prepare` makes it ready for a model, with `settings.Drive` and `settings.Processing`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
