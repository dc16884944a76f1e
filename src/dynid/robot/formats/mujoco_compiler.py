"""MuJoCo's compiler, kept in hand: what it takes silently is refused, what it warns of becomes a finding.

MJCF leaves much to its compiler (defaults, classes, units, inertia from shapes), so MuJoCo itself reads the file.
"""

import importlib
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dynid.errors import RobotFileError
from dynid.files import is_file
from dynid.findings import Finding
from dynid.robot.formats.packages import ALLOWED, is_below, outside, own_folders
from dynid.robot.formats.xml_files import Element, read_xml
from dynid.robot.joints import LARGEST_NUMBER

MjModel: TypeAlias = Any  # MuJoCo has no type information
MjSpec: TypeAlias = Any

_NAN = {"nan", "+nan", "-nan"}


def compile_mjcf(path: Path, root: Element) -> tuple[MjModel, tuple[Finding, ...]]:
    """MuJoCo's model of a file, and what was noticed.

    Args:
        path: The file.
        root: Its root element.

    Raises:
        RobotFileError: If MuJoCo cannot load the file, it holds NaN or infinite values, or includes a file from outside
            its folder.
    """
    parts = list(_with_included(path, path, root, {path.resolve()}))
    _refuse_nan(parts)
    model, notes = _compiled(path, root, _assets_outside(path, parts))
    _refuse_infinite(path, model)
    return model, notes


def _refuse_nan(parts: Sequence[tuple[Path, Element]]) -> None:
    """MuJoCo takes a NaN for a value that was left out, and would go on with its default."""
    for file, top in parts:
        for element in top.iter("*"):
            for key, text in element.items():
                if key not in ("name", "class") and not _NAN.isdisjoint(text.lower().split()):
                    problem = f'<{element.tag}> has {key}="{text[:60]}"; expected finite numbers'
                    raise RobotFileError(file, problem, element.sourceline)


def _with_included(main: Path, path: Path, root: Element, seen: set[Path]) -> Iterator[tuple[Path, Element]]:
    """A file and all that it includes; files that are not found are left for MuJoCo to complain about.

    Raises:
        RobotFileError: If a file, or another model, is not below the folder of the main one.
    """
    yield path, root
    for element in root.iter("include", *MODELS):
        name = element.get("file", "")
        candidates = [folder / name for folder in (main.parent, path.parent)] if name else []
        there = [candidate for candidate in candidates if is_file(candidate)]
        for candidate in there:
            if not is_below(candidate, own_folders(main)):
                raise RobotFileError(path, f"<{element.tag}> names {outside(name, candidate)}", element.sourceline)
        is_model = element.tag == "include" or (element.tag == "model" and there and _is_xml(there[0]))
        if there and there[0].resolve() not in seen and is_model:
            seen.add(there[0].resolve())
            yield from _with_included(main, there[0], read_xml(there[0]), seen)


def _is_xml(path: Path) -> bool:
    return path.suffix.lower() in (".xml", ".mjcf", ".urdf")


MODELS = ("model", "flexcomp")
"""Elements beside `<include>` whose files become parts of the model."""

SHOWN = ("texture", "skin")
"""Elements whose files are only for show."""


@dataclass(frozen=True)
class _Outside:
    """A file of a mesh, height field, texture or skin that is outside the folders that may be read.

    Attributes:
        element: The element that names it.
        name: How it is named.
        path: Where it is.
    """

    element: str
    name: str
    path: Path


def _assets_outside(main: Path, parts: Sequence[tuple[Path, Element]]) -> _Outside | None:
    """The first file of a mesh or height field, or else of what is only for show, that must not be read."""
    compilers = [compiler for _, root in parts for compiler in root.iter("compiler")]
    folders = own_folders(main, package=True)
    bare = any(compiler.get("strippath") == "true" for compiler in compilers)
    found: list[_Outside] = []
    for _, root in parts:
        for element in root.iter("mesh", "hfield", *SHOWN):
            keys = ("texturedir" if element.tag == "texture" else "meshdir", "assetdir")
            bases = [Path(c.get(key, "")) for c in compilers for key in keys if c.get(key)] or [Path()]
            for name in (str(text) for key, text in element.items() if str(key).startswith("file")):
                places = [main.parent / base / (Path(name).name if bare else name) for base in bases]
                there = next((place for place in places if is_file(place) and not is_below(place, folders)), None)
                if there is not None:
                    found.append(_Outside(element.tag, name, there))
    return min(found, key=lambda asset: asset.element in SHOWN, default=None)


def _refuse_infinite(path: Path, model: MjModel) -> None:
    fields = ("body_pos", "body_quat", "body_ipos", "body_mass", "body_inertia", "jnt_pos", "jnt_axis", "qpos0")
    fields += ("dof_damping", "dof_frictionloss", "dof_armature", "geom_pos", "geom_size")
    for field in fields:
        if not (np.abs(getattr(model, field)) <= LARGEST_NUMBER).all():
            raise RobotFileError(path, f"MuJoCo's `{field}` is not finite; look for infinite values in the file")
    for field in ("body_quat", "body_iquat", "geom_quat"):
        if not np.allclose(np.linalg.norm(getattr(model, field), axis=1), 1.0, rtol=0.0, atol=1e-6):
            problem = f"MuJoCo's `{field}` is no rotation; look for quaternions of zero or enormous length in the file"
            raise RobotFileError(path, problem)
    if not (np.abs(model.opt.gravity) <= LARGEST_NUMBER).all():
        raise RobotFileError(path, f"gravity is {model.opt.gravity}; expected three finite numbers [m/s^2]")


def mujoco_module() -> Any:
    """MuJoCo, which is slow to import: only those who read MJCF wait for it."""
    return importlib.import_module("mujoco")


def enum_name(enumeration: str, value: object) -> str:
    """MuJoCo's name of a value; its enumerations neither equal nor hash as the integers in its arrays."""
    return getattr(mujoco_module(), enumeration)(value).name


def _compiled(path: Path, root: Element, kept_out: _Outside | None) -> tuple[MjModel, tuple[Finding, ...]]:
    """MuJoCo's model of a file; where files of shapes are missing and not needed for inertia, without these shapes.

    Args:
        path: The file.
        root: Its root element.
        kept_out: A file that must not be read; what it is for is left out as if it were missing.
    """
    mujoco = mujoco_module()
    missing, failure = "", Exception("MuJoCo says nothing")
    first = 0 if kept_out is None else 1 if kept_out.element in SHOWN else 2
    for stripped in ("nothing", "textures", "meshes")[first:]:
        try:
            with _collected_warnings() as warned:
                spec = mujoco.MjSpec.from_file(str(path))
                if stripped != "nothing":
                    _strip_textures(spec)
                notes = _strip_meshes(path, spec, missing, kept_out) if stripped == "meshes" else ()
                model = spec.compile()
            return model, (*notes, *(Finding.of("mujoco-warning", "file", warning=text) for text in warned))
        except (ValueError, mujoco.FatalError) as error:
            failure = error
            asset = re.match(r"(?:Error: )*Error opening file '([^']*)'", str(error))
            if asset is None:
                break
            missing = asset[1]
    raise _in_our_words(path, root, str(failure)) from failure


@contextmanager
def _collected_warnings() -> Iterator[list[str]]:
    """What MuJoCo warns about meanwhile; it would else write a log into the working folder."""
    mujoco = mujoco_module()
    texts: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(texts.append)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield texts
        texts += [str(warning.message) for warning in caught]
    finally:
        mujoco.set_mju_user_warning(before)


def _strip_textures(spec: MjSpec) -> None:
    """Drop what is only for show."""
    for material in spec.materials:
        for k in range(len(material.textures)):
            material.textures[k] = ""
    _delete(spec, [*spec.textures, *spec.skins])


def _strip_meshes(path: Path, spec: MjSpec, missing: str, kept_out: _Outside | None) -> tuple[Finding, ...]:
    """Drop all meshes, unless they determine the inertia of a body."""
    what = f"the file '{missing}' is missing" if kept_out is None else outside(kept_out.name, kept_out.path)
    weighed = [body.name or "(unnamed)" for body in spec.bodies[1:] if _is_weighed_by_meshes(spec, body)]
    if weighed:
        shown = ", ".join(f"'{name}'" for name in weighed[:3]) + (", ..." if len(weighed) > 3 else "")
        problem = f"{what}; meshes determine the inertia of {shown}"
        raise RobotFileError(path, problem + ": put it in its place, or give these bodies an <inertial>")
    shapes = [geom for geom in spec.geoms if geom.meshname or geom.hfieldname]
    # Sensors and contact pairs may refer to the shapes, and matter to simulation only.
    _delete(spec, [*shapes, *spec.pairs, *spec.sensors, *spec.meshes, *spec.hfields])
    if kept_out is not None:
        folder = str(kept_out.path.resolve().parent)
        return (Finding.of("meshes-outside", "meshes", file=kept_out.name, variable=ALLOWED, folder=folder),)
    return (Finding.of("meshes-missing", "meshes", file=missing),)


def _is_weighed_by_meshes(spec: MjSpec, body: Any) -> bool:
    source = enum_name("mjtInertiaFromGeom", spec.compiler.inertiafromgeom)
    if source == "mjINERTIAFROMGEOM_FALSE" or (source == "mjINERTIAFROMGEOM_AUTO" and body.explicitinertial):
        return False
    first, last = spec.compiler.inertiagrouprange
    return any(
        geom.meshname and first <= geom.group <= last and (geom.density if math.isnan(geom.mass) else geom.mass) > 0.0
        for geom in body.geoms
    )


def _delete(spec: MjSpec, elements: list) -> None:
    for element in elements:
        spec.delete(element)


def _in_our_words(path: Path, root: Element, message: str) -> RobotFileError:
    """MuJoCo's message as one sentence, with the line if it is surely one of this file."""
    text = re.sub(r"^((XML )?Error: )+", "", " ".join(message.split()))
    found = re.search(r",? line (\d+)", text)
    line = int(found[1]) if found and root.find(".//include") is None else None
    if line is not None and found:
        text = text.replace(found[0], "")
    at = re.search(r" Element (?:name )?'([^']*)'(?:, id \d+)?", text)
    if "mass and inertia of moving bodies" in text:
        who = f"body '{at[1]}'" if at and at[1] else "a body"
        text = f"{who} moves, but has no mass or no inertia; give it an <inertial>, or a geom with mass"
        return RobotFileError(path, text, line)
    if at:
        text = text.replace(at[0], f" (at '{at[1]}')" if at[1] else "")
    return RobotFileError(path, f"MuJoCo cannot load it: {text}", line)
