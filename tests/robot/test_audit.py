"""What is noticed about robot files, and the boxes around their geometry."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest

from dynid.arrays import Array
from dynid.findings import Finding, Severity
from dynid.robot.audit import audit
from dynid.robot.description import BodyDescription, Geometry
from dynid.robot.frames import pose, rotation_from_rpy
from dynid.robot.geometry import bounds
from dynid.robot.loading import builtin_names, load_robot

BOX = '<collision><origin xyz="0 0 0.2"/><geometry><box size="0.1 0.1 0.4"/></geometry></collision>'
SOLID = (0.014, 0.014, 0.0017)  # principal moments of 1 kg in that box, rounded [kg m^2]
LIMIT = '<limit lower="-2" upper="2" velocity="3" effort="40"/>'
OFF_DIAGONAL = (0.0, 0.0, 0.0)


def inertial(
    mass: float = 1.0,
    moments: tuple[float, float, float] = SOLID,
    com: str = "0 0 0.2",
    products: tuple[float, float, float] = OFF_DIAGONAL,
) -> str:
    ixx, iyy, izz = moments
    ixy, ixz, iyz = products
    return (
        f'<inertial><origin xyz="{com}"/><mass value="{mass!r}"/><inertia ixx="{ixx!r}" iyy="{iyy!r}" izz="{izz!r}" '
        f'ixy="{ixy!r}" ixz="{ixz!r}" iyz="{iyz!r}"/></inertial>'
    )


def link(name: str, inside: str | None = None) -> str:
    return f'<link name="{name}">{inertial() + BOX if inside is None else inside}</link>\n'


def joint(name: str, parent: str, child: str, inside: str = LIMIT, kind: str = "revolute", xyz: str = "0 0 0.4") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="0 1 0"/>{inside}</joint>\n'
    )


FRAME = "<robot name='arm'>\n" + link("base", BOX)
SHOULDER = joint("shoulder", "base", "upper")
ELBOW = joint("elbow", "upper", "lower")


@pytest.fixture
def findings_of(tmp_path: Path):
    def findings(*elements: str, **options) -> tuple[Finding, ...]:
        path = tmp_path / "arm.urdf"
        path.write_text(FRAME + "".join(elements) + "</robot>", encoding="utf-8")
        return audit(load_robot(path, **options))

    return findings


def only(findings: tuple[Finding, ...]) -> Finding:
    assert len(findings) == 1, findings
    return findings[0]


def expect(finding: Finding, code: str, subject: str, **values: object) -> None:
    """The finding has the code, the subject and (at least) the values; its words can be made of them."""
    assert finding.code == code
    assert finding.subject == subject
    for key, value in values.items():
        assert finding.values[key] == (pytest.approx(value) if not isinstance(value, str | list) else value), key
    assert "{" not in finding.text


def test_a_sound_robot_gives_no_finding(findings_of) -> None:
    assert findings_of(link("upper"), link("lower"), SHOULDER, ELBOW) == ()


@pytest.mark.parametrize("name", builtin_names())
def test_built_in_robots_have_nothing_worse_than_notes(name: str) -> None:
    assert all(finding.severity is Severity.NOTE for finding in audit(load_robot(f"builtin:{name}")))


def test_what_the_reader_noticed_comes_along_and_errors_come_first(findings_of) -> None:
    backwards = joint("shoulder", "base", "upper", '<limit lower="2" upper="-2" velocity="3" effort="40"/>')
    wheel = joint("elbow", "upper", "lower", "", "continuous")
    findings = findings_of(link("upper", inertial(-1.0) + BOX), link("lower", BOX), backwards, wheel)
    assert [finding.severity.value for finding in findings] == ["error", "error", "warning", "note"]
    expect(findings[0], "position-limits-swapped", "joint 'shoulder'", lower=2.0, upper=-2.0)


def test_a_robot_without_inertia_gets_one_note(findings_of) -> None:
    finding = only(findings_of(link("upper", BOX), link("lower", BOX), SHOULDER, ELBOW))
    expect(finding, "inertia-unstated", "robot 'arm'")


def test_a_massless_link_in_a_chain(findings_of) -> None:
    finding = only(findings_of(link("upper", BOX), link("lower"), SHOULDER, ELBOW))
    values = {"joint": "shoulder", "stated": "no inertia", "where": " (line 3)", "carried": ["lower"]}
    expect(finding, "massless-link-in-chain", "link 'upper'", **values)


def test_a_massless_link_at_the_end_with_a_zero_mass_in_the_file(findings_of) -> None:
    nothing = inertial(0.0, (0.0, 0.0, 0.0))
    finding = only(findings_of(link("upper"), link("lower", nothing), SHOULDER, ELBOW))
    expect(finding, "massless-link-at-end", "link 'lower'", stated="zero mass and inertia")


def test_massless_links_up_to_the_end_are_one_finding(findings_of) -> None:
    finger = link("lower", "") + link("tip", "") + joint("wrist", "lower", "tip")
    finding = only(findings_of(link("upper"), finger, SHOULDER, ELBOW))
    expect(finding, "massless-links-at-end", "link 'lower'", carried=["tip"])


def test_frames_welded_to_a_link_need_no_inertia(findings_of) -> None:
    flange = link("flange", "") + joint("mount", "upper", "flange", "", "fixed")
    assert findings_of(link("upper"), link("lower"), flange, SHOULDER, ELBOW) == ()


def test_links_that_a_reader_makes_up_need_no_inertia(findings_of) -> None:
    findings = findings_of(link("cart"), joint("slider", "base", "cart", "", "planar"))
    assert {finding.severity for finding in findings} == {Severity.NOTE}  # no limits: those of planar joints are unread


def test_an_impossible_inertia_is_an_error_with_its_amount(findings_of) -> None:
    flat = inertial(1.0, (0.02, 0.02, 0.05)) + BOX
    finding = only(findings_of(link("upper", flat), link("lower"), SHOULDER, ELBOW))
    # 0.05 - 0.02 - 0.02 = 0.01 kg m^2, which is a fifth of 0.05
    amounts = {"I1 + I2 >= I3 (triangle inequality)": 0.01}
    expect(finding, "inertia-inconsistent", "body 'upper'", amounts=amounts, percent=20.0, where=" (line 3)")
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("stated", "code", "values"),
    [
        (inertial(-2.0), "mass-negative", {"mass": -2.0}),
        (inertial(0.0), "mass-zero-with-inertia", {"moment": 0.014}),
        (inertial(1.0, (0.02, 0.02, 0.040001)), "inertia-inconsistent-by-rounding", {"percent": 100e-6 / 0.040001}),
        (inertial(1.0, (0.02, 0.02, 0.02), products=(0.02, 0.02, 0.02)), "inertia-elements-equal", {}),
        (inertial(1.0, (-0.001, 0.02, 0.02)), "inertia-inconsistent", {"percent": 5.0}),
    ],
)
def test_causes_of_inconsistent_inertias_are_distinguished(findings_of, stated: str, code: str, values: dict) -> None:
    finding = next(iter(findings_of(link("upper", stated + BOX), link("lower"), SHOULDER, ELBOW)))
    expect(finding, code, "body 'upper'", **values)


def test_an_impossible_body_in_a_possible_link(findings_of) -> None:
    camera = link("camera", inertial(0.01, (1e-6, 1e-6, 3e-6), "0 0 0"))
    mount = joint("mount", "upper", "camera", "", "fixed")
    body, whole = findings_of(link("upper"), link("lower"), camera, mount, SHOULDER, ELBOW)
    expect(body, "inertia-inconsistent", "body 'camera'")
    expect(whole, "link-consistent-as-a-whole", "link 'upper'", body="camera")


def test_a_centre_of_mass_far_outside_of_the_geometry(findings_of) -> None:
    finding = only(findings_of(link("upper", inertial(com="0 0 0.9") + BOX), link("lower"), SHOULDER, ELBOW))
    # The box ends at z = 0.4, and its diagonal is sqrt(0.1^2 + 0.1^2 + 0.4^2) = 0.424.
    expect(finding, "centre-of-mass-outside", "body 'upper'", outside=0.5, diagonal=math.sqrt(0.18), where=" (line 3)")
    near = findings_of(link("upper", inertial(com="0 0 0.6") + BOX), link("lower"), SHOULDER, ELBOW)
    assert near == ()


def test_missing_limits_are_listed_by_what_is_missing(findings_of) -> None:
    bare = joint("shoulder", "base", "upper", "")
    findings = findings_of(link("upper"), link("lower"), bare, joint("elbow", "upper", "lower", "", "continuous"))
    assert len(findings) == 2
    expect(findings[0], "limits-missing", "joint 'shoulder'", limits=["position range"], joints=["shoulder"])
    both = {"limits": ["velocity limit", "effort limit"], "joints": ["shoulder", "elbow"]}
    expect(findings[1], "limits-missing", "2 joints", **both)


def test_long_lists_of_joints_are_cut(findings_of) -> None:
    names = ["base", *(f"link_{k}" for k in range(11))]
    chain = [link(name) + joint(f"joint_{k}", names[k], name, "") for k, name in enumerate(names[1:])]
    finding = only(findings_of(*chain))
    expect(finding, "limits-missing", "11 joints")
    assert "and 3 more" in finding.text


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ('<limit lower="1" upper="1" velocity="3" effort="40"/>', "position-limits-equal"),
        ('<limit lower="-1" upper="1" velocity="0" effort="40"/>', "velocity-limit-not-positive"),
        ('<limit lower="-1" upper="1" velocity="3" effort="0"/>', "effort-limit-not-positive"),
        ('<limit lower="-180" upper="180" velocity="3" effort="40"/>', "position-limits-in-degrees"),
    ],
)
def test_limits_that_cannot_be_meant(findings_of, limit: str, code: str) -> None:
    finding = only(findings_of(link("upper"), link("lower"), SHOULDER, joint("elbow", "upper", "lower", limit)))
    expect(finding, code, "joint 'elbow'", joints=["elbow"])


def test_limits_too_far_for_degrees_mean_no_limit(findings_of) -> None:
    far = '<limit lower="-1e5" upper="1e5" velocity="3" effort="40"/>'
    finding = only(findings_of(link("upper"), link("lower"), SHOULDER, joint("elbow", "upper", "lower", far)))
    expect(finding, "position-limits-without-meaning", "joint 'elbow'", bound=1000.0)


def test_lengths_in_millimetres(findings_of) -> None:
    far = joint("elbow", "upper", "lower", xyz="0 0 400")
    findings = findings_of(link("upper"), link("lower", inertial(com="0 0 200")), SHOULDER, far)
    assert len(findings) == 2
    expect(findings[0], "joint-distant", "joint 'elbow'", distance=400.0, parent="upper", where=" (line 6)")
    expect(findings[1], "centre-of-mass-distant", "body 'lower'", distance=200.0, where=" (line 4)")


def test_geometry_in_millimetres(findings_of) -> None:
    large = inertial() + '<visual><geometry><box size="100 100 400"/></geometry></visual>'
    finding = only(findings_of(link("upper", large), link("lower", large), SHOULDER, ELBOW))
    expect(finding, "geometry-large", "robot 'arm'", bodies=3, sizes={"upper": 400.0, "lower": 400.0})
    assert findings_of(link("upper", large), link("lower"), SHOULDER, ELBOW) == ()


def test_masses_in_grams(findings_of) -> None:
    heavy = inertial(6000.0, (84.0, 84.0, 10.2)) + BOX
    findings = findings_of(link("upper", heavy), link("lower", heavy), SHOULDER, ELBOW)
    assert [finding.subject for finding in findings] == ["body 'upper'", "body 'lower'", "robot 'arm'"]
    expect(findings[0], "mass-large", "body 'upper'", mass=6000.0, where=" (line 3)")
    expect(findings[2], "total-mass-large", "robot 'arm'", mass=12000.0)


@pytest.mark.parametrize(
    ("moments", "code"),
    [
        ((14000.0, 14000.0, 1700.0), "inertia-large"),
        ((25.0, 25.0, 25.0), "inertia-large"),
        ((1.4e-9, 1.4e-9, 1.7e-10), "inertia-small"),
    ],
)
def test_inertias_in_other_units(findings_of, moments: tuple[float, float, float], code: str) -> None:
    finding = only(findings_of(link("upper", inertial(1.0, moments) + BOX), link("lower"), SHOULDER, ELBOW))
    expect(finding, code, "body 'upper'", gyration=math.sqrt(moments[0]), size=0.4, where=" (line 3)")


def test_an_inertia_may_be_too_large_even_in_a_large_robot(findings_of) -> None:
    crane = joint("shoulder", "base", "upper", xyz="0 0 10")
    finding = only(findings_of(link("upper", inertial(1.0, (36.0, 36.0, 36.0)) + BOX), link("lower"), crane, ELBOW))
    expect(finding, "inertia-large", "body 'upper'", gyration=6.0, size=10.0)


def test_a_point_mass_is_a_warning_alone_and_a_note_when_welded(findings_of) -> None:
    point = inertial(0.7, (0.0, 0.0, 0.0), "0.013 0.027 0.31")  # leaves rounding on the way to the frame and back
    finding = only(findings_of(link("upper", point + BOX), link("lower"), SHOULDER, ELBOW))
    expect(finding, "point-mass", "body 'upper'", bodies=["upper"])
    tool = link("tool", point) + joint("mount", "lower", "tool", "", "fixed")
    finding = only(findings_of(link("upper"), link("lower"), tool, SHOULDER, ELBOW))
    expect(finding, "point-mass-welded", "body 'tool'")
    finding = only(findings_of(link("upper"), link("lower", point + BOX), tool, SHOULDER, ELBOW))
    expect(finding, "point-mass", "2 bodies", bodies=["lower", "tool"])


def test_the_same_round_inertia_in_three_bodies_looks_like_a_placeholder(findings_of) -> None:
    same = inertial(1.0, (1e-3, 1e-3, 1e-3), "0.01 0.02 0.3") + BOX
    two = link("upper", same) + link("lower", same) + SHOULDER + ELBOW
    assert findings_of(two) == ()
    finding = only(findings_of(two, link("hand", same), joint("wrist", "lower", "hand")))
    expect(finding, "inertia-placeholder", "3 bodies", moment=0.001, bodies=["upper", "lower", "hand"])


@pytest.mark.parametrize(("gravity", "code"), [((0, 0, 0), "gravity-zero"), ((0, 0, -1.62), "gravity-unusual")])
def test_gravity_of_other_places(findings_of, gravity: tuple[float, ...], code: str) -> None:
    finding = only(findings_of(link("upper"), link("lower"), SHOULDER, ELBOW, gravity=gravity))
    expect(finding, code, "gravity")


PLACEMENT = pose(rotation_from_rpy(0.4, -1.1, 2.3), np.array([0.3, -0.2, 0.7]))


def body_of(shape: str, *size: float, mesh: Path | None = None) -> BodyDescription:
    return BodyDescription("part", geometry=(Geometry(shape, size, PLACEMENT, mesh),))


def placed_bounds(points: Array) -> Array:
    placed = points @ PLACEMENT[:3, :3].T + PLACEMENT[:3, 3]
    return np.stack([placed.min(axis=0), placed.max(axis=0)])


def surface_of_sphere(radius: float) -> Array:
    polar, azimuth = np.meshgrid(np.linspace(0, math.pi, 500), np.linspace(0, 2 * math.pi, 1000))
    unit = [np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)]
    return radius * np.stack(unit, axis=-1).reshape(-1, 3)


def surface_of(shape: str, *size: float) -> Array:
    """Points all over the surface of a shape in its own frame; a hull of it is enough for bounds."""
    if shape == "box":
        return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * np.array(size) / 2
    if shape == "sphere":
        return surface_of_sphere(size[0])
    radius, length = size
    ends = np.array([[0.0, 0.0, -length / 2], [0.0, 0.0, length / 2]])
    rim = surface_of_sphere(radius)
    if shape == "cylinder":
        angle = np.linspace(0, 2 * math.pi, 10000)
        rim = radius * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    return np.concatenate([rim + end for end in ends])


@pytest.mark.parametrize(
    "shape", [("box", 0.2, 0.5, 0.9), ("sphere", 0.3), ("cylinder", 0.2, 0.7), ("capsule", 0.2, 0.7)]
)
def test_bounds_of_a_shape_are_those_of_its_surface(shape: tuple) -> None:
    found = bounds(body_of(*shape))
    assert found is not None
    np.testing.assert_allclose(found, placed_bounds(surface_of(*shape)), atol=1e-5)


TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], dtype=float)
FACES = TETRAHEDRON[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]


def binary_stl(path: Path) -> None:
    triangles = b"".join(struct.pack("<12fH", 0, 0, 1, *face.ravel(), 0) for face in FACES)
    path.write_bytes(b"solid by its first word only".ljust(80) + struct.pack("<I", len(FACES)) + triangles)


def text_stl(path: Path) -> None:
    def facet(face: Array) -> str:
        corners = "\n".join("vertex {} {} {}".format(*corner) for corner in face)
        return f"facet normal 0 0 1\nouter loop\n{corners}\nendloop\nendfacet\n"

    path.write_text("solid part\n" + "".join(map(facet, FACES)) + "endsolid part\n", encoding="utf-8")


def wavefront(path: Path) -> None:
    vertices = "".join("v {} {} {}\n".format(*vertex) for vertex in TETRAHEDRON)
    path.write_text(vertices + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n", encoding="utf-8")


@pytest.mark.parametrize(("name", "write"), [("part.STL", binary_stl), ("part.stl", text_stl), ("part.obj", wavefront)])
def test_bounds_of_a_mesh_are_those_of_its_scaled_vertices(tmp_path: Path, name: str, write) -> None:
    write(tmp_path / name)
    scale = (0.1, 0.2, -0.3)
    found = bounds(body_of("mesh", *scale, mesh=tmp_path / name))
    assert found is not None
    np.testing.assert_allclose(found, placed_bounds(TETRAHEDRON * scale), atol=1e-6)


@pytest.mark.parametrize(
    "content", [b"", b"solid", b"x" * 84, b"x" * 200, b"\0" * 84, b"\0" * 80 + b"\1\0\0\0" + b"\xff" * 50]
)
@pytest.mark.parametrize("suffix", [".stl", ".dae", ".obj", ".unknown"])
def test_a_broken_mesh_is_skipped(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"part{suffix}"
    path.write_bytes(content)
    assert bounds(body_of("mesh", 1.0, 1.0, 1.0, mesh=path)) is None


def test_shapes_of_unknown_size_are_left_out_of_bounds() -> None:
    known = body_of("sphere", 0.3)
    for unknown in (Geometry("mesh", (1.0, 1.0, 1.0), PLACEMENT), Geometry("sphere", (0.0,), PLACEMENT)):
        assert bounds(BodyDescription("part", geometry=(unknown,))) is None
        both = BodyDescription("part", geometry=(*known.geometry, unknown))
        np.testing.assert_array_equal(bounds(both), bounds(known))
        assert bounds(both, complete=True) is None
    assert bounds(BodyDescription("frame")) is None
