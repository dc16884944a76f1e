"""What the machine is: joints, links and their inertia, from a robot file or a table.

* `loading`: `load_robot` and `convert`; which reader reads which source.
* `robot`: `Robot`, the tree of links and joints; `description`, what a file says; `assembly`, from one to the other.
* `inertia`: the order of the ten inertial parameters, and when they are physically consistent.
* `audit`: findings on a robot file; `repair`: the nearest physically consistent robot.
* `formats`: readers, writers and edits of URDF, MJCF and DH tables; `builtin`: robots that come with dynid.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
