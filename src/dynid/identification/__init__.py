"""The steps of an identification, in the order in which `pipeline.identify` takes them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
