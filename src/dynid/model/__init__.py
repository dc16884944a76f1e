"""What is identifiable: a robot with friction and actuator terms, its parameters, and the base parameters.

* `dynamic_model`: `DynamicModel`, a robot with terms; its observation matrix, inverse dynamics and mass matrices.
* `terms`: friction and actuator terms, and how to write one.
* `parameters`: what each parameter says of itself: joint, link, role, sign.
* `base_parameters`: the identifiable linear combinations of the standard parameters.
* `inspection`: `inspect`, all of it for one robot, with findings on its file.
* `formulations`: other equations that are linear in the parameters: power, energy, momentum.
* `kernels`: the observation matrix and its adjoint for many samples, compiled and in NumPy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
