"""Friction and actuator terms: friction, offsets, motor inertia, couplings, springs.

A term is an object that gives columns of the observation matrix, with a parameter for each. Torques are linear in the
parameters: `tau = W_links p_links + columns(q, v, a) p_terms`.

Most terms are a function of one joint's own motion. To add one, name the symbols and their units and say what one unit
of each parameter does; where a parameter cannot be negative, or stands for something that robot files have a place for,
state its sign or role, too:

>>> class CubicFriction(JointTerm):
...     '''A torque that grows with the cube of velocity.'''
...     symbols = ("fcub",)
...     units = ("N m s^3/rad^3",)
...     signs = (Sign.NONNEGATIVE,)
...     needs = frozenset("v")
...     def features(self, q, v, a):
...         return (v**3,)
>>> from dynid import DynamicModel, load_robot
>>> model = DynamicModel(load_robot("builtin:two_link"), ["viscous", CubicFriction()])
>>> [parameter.name for parameter in model.parameters][-2:]
['fcub1', 'fcub2']

`register_term("cubic", CubicFriction)` lets experiment files use it by a name.
"""

from dynid.model.parameters import NonlinearParameter, Role, Sign
from dynid.model.terms.combined_terms import MOTOR_TERMS, Combination, Combined, MotorTerm
from dynid.model.terms.contact_offsets import ContactOffset
from dynid.model.terms.gears import DirectionalFriction, GearFriction, LoadFriction, LoadStribeck, QuadraticFriction
from dynid.model.terms.linear_terms import Armature, AsymmetricCoulomb, Coulomb, Coupling, Offset, Spring, Viscous
from dynid.model.terms.link_springs import LinkSpring
from dynid.model.terms.nonlinear_friction import LoadCoulomb, Sigmoid, Stribeck, ViscousTemperature
from dynid.model.terms.nonlinear_term import NonlinearTerm
from dynid.model.terms.parsing import AUTO, TERMS, parse_terms, register_term, specification
from dynid.model.terms.term import JointTerm, Term, TermOfJoints

__all__ = [
    "AUTO",
    "MOTOR_TERMS",
    "TERMS",
    "Armature",
    "AsymmetricCoulomb",
    "Combination",
    "Combined",
    "ContactOffset",
    "Coulomb",
    "Coupling",
    "DirectionalFriction",
    "GearFriction",
    "JointTerm",
    "LinkSpring",
    "LoadCoulomb",
    "LoadFriction",
    "LoadStribeck",
    "MotorTerm",
    "NonlinearParameter",
    "NonlinearTerm",
    "Offset",
    "QuadraticFriction",
    "Role",
    "Sigmoid",
    "Sign",
    "Spring",
    "Stribeck",
    "Term",
    "TermOfJoints",
    "Viscous",
    "ViscousTemperature",
    "parse_terms",
    "register_term",
    "specification",
]
