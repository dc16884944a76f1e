"""Code of a model for controllers: gravity, inverse dynamics, mass and Coriolis matrices as straight lines of C.

* `expressions`: numbers of generated code: Python floats where they are known, operations on a tape where they are not.
* `vectors`: vectors, rotations and pseudo-inertias of such numbers.
* `tree`: the robot as the recursions take it, with axes along z and inertia lumped towards the base.
* `recursions`: velocities, inverse dynamics, and momentum, from link to link.
* `matrices`: the mass matrix and the Coriolis matrix.
* `term_torques`, `gear_torques`: friction and actuator terms.
* `functions`: the functions that are generated, with their arguments.
* `tape_machine`: runs the tape of a function where there is no compiler.
* `names`: identifiers that are made, and names that cannot leave a comment.
* `c_text`: a tape as C.
* `code_request`, `contact_levels`: what is to be generated.
* `template_values`, `stored_samples`, `code_files`, `ros2_files`, `templates`: the files around it.
* `build_folder`, `compiled_model`: the same as fast functions of Python.
"""
