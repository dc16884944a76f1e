"""Results and trajectories as HTML: a verdict, findings, figures and tables in one file that works offline."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
