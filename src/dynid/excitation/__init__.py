"""How to move: exciting trajectories within limits.

`recipe.excite` designs them and returns an `exciting_motion.Excitation`; `trajectory_files` reads trajectories and
`trajectory_formats` writes them. `design` searches; its `problem`, an information matrix, a criterion and limits, is
made from `settings` by `stated_problem`. What can be followed is in `trajectories`: families for design, profiles in
the shortest time. `waypoint_motion.motion_through` moves a robot from posture to posture.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
