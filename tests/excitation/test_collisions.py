"""Distances of a robot to itself and its surroundings, against Pinocchio, Coal, finite differences and brute force."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import dynid
from dynid import DynidError
from dynid.cli.app import app
from dynid.excitation.collision.collision_model import CollisionModel
from dynid.excitation.collision.pairs import SemanticFileError
from dynid.excitation.collision.solids import Capsule, closest_points, solids_of
from dynid.excitation.collision.stated_collisions import collisions_of
from dynid.excitation.limits.clearance_limit import ClearanceLimit
from dynid.excitation.limits.stated import joint_limits
from dynid.excitation.local_search import random_start
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.stated_problem import problem_of
from dynid.model import joint_poses
from dynid.robot import Robot
from tests.references import example_robot_file

coal = pytest.importorskip("coal", reason="Coal has no wheels for this system")

BODY = """<link name="{name}"><inertial><mass value="2"/><origin xyz="0.1 0 0"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial>{shapes}</link>"""
SHAPE = '<collision><origin xyz="{xyz}" rpy="{rpy}"/><geometry>{shape}</geometry></collision>'
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>
<limit lower="{low}" upper="{high}" velocity="2" effort="300"/>{more}</joint>"""


def shape(text: str, xyz: str = "0 0 0", rpy: str = "0 0 0") -> str:
    return SHAPE.format(shape=text, xyz=xyz, rpy=rpy)


def body(name: str, *shapes: str) -> str:
    return BODY.format(name=name, shapes="".join(shapes))


def joint(name: str, kind: str, parent: str, child: str, axis: str, **keys: str) -> str:
    keys = {"xyz": "0 0 0", "rpy": "0 0 0", "low": "-2", "high": "2", "more": ""} | keys
    return JOINT.format(name=name, kind=kind, parent=parent, child=child, axis=axis, **keys)


MIMIC = '<mimic joint="j3" multiplier="-0.7"/>'
TREE = "".join(
    [
        '<robot name="tree">',
        body("base", shape('<box size="0.2 0.2 0.1"/>', "0 0 0.05")),
        body("upper", shape('<cylinder radius="0.05" length="0.4"/>', "0.2 0 0", "0 1.5707963 0")),
        body("slider", shape('<box size="0.1 0.08 0.3"/>', "0 0 0.1")),
        body("hand", shape('<sphere radius="0.07"/>', "0.25 0 0"), shape('<box size="0.3 0.04 0.04"/>', "0.1 0 0")),
        body("other", shape('<capsule radius="0.04" length="0.3"/>', "0 0 0.2")),
        body("finger", shape('<box size="0.2 0.05 0.05"/>', "0.1 0 0")),
        joint("j1", "revolute", "base", "upper", "0 1 0", xyz="0 0 0.4"),
        joint("j2", "prismatic", "upper", "slider", "1 0 0", xyz="0.4 0 0", low="-0.1", high="0.3"),
        joint("j3", "revolute", "slider", "hand", "0.3 1 0.2", xyz="0 0 0.2", rpy="0.2 0.1 0"),
        joint("j4", "continuous", "base", "other", "1 0 0", xyz="0.1 0.35 0.3"),
        joint(
            "j5", "revolute", "other", "finger", "0 0 1", xyz="0 0 0.4", more='<mimic joint="j3" multiplier="-0.7"/>'
        ),
        "</robot>",
    ]
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    path = tmp_path_factory.mktemp("tree") / "tree.urdf"
    path.write_text(TREE)
    return dynid.load_robot(path)


def model_of(robot: Robot, **keys: object) -> CollisionModel:
    settings = ExcitationSettings.model_validate(keys)
    return collisions_of(settings, robot, joint_limits(settings, robot)).model


def postures(robot: Robot, count: int, seed: int = 0) -> np.ndarray:
    ends = [limit.interval(6.0) for limit in joint_limits(ExcitationSettings(), robot)]
    low, high = np.array(ends).T
    return np.random.default_rng(seed).uniform(low, high, (count, robot.nv))


WALLS = {
    "floor": True,
    "wall": [{"point": (0.9, 0.0, 0.0), "normal": (-1.0, 0.2, 0.0)}],
    "obstacle": [{"centre": (0.5, -0.4, 0.5), "size": (0.2, 0.3, 0.4), "rpy": (0.1, 0.2, 0.3), "name": "table"}],
}


def test_slopes_equal_finite_differences_on_branches_slides_and_mimic_joints(tree: Robot) -> None:
    model = model_of(tree, **WALLS)
    q = postures(tree, 300)
    sample, pair = np.nonzero((d := model.clearances(q, 0.3)) < 0.3)
    some = np.flatnonzero(d[sample, pair] > 1e-3)
    sample, pair = sample[some], pair[some]
    assert {model.pairs[k].name for k in pair} >= {
        "other-hand",
        "finger-upper",
        "hand-floor",
        "hand-table",
        "hand-wall 1",
    }
    distance, slopes = model.slopes(q[sample], pair)
    assert np.allclose(distance, d[sample, pair], atol=1e-9)
    step, differences = 1e-6, np.zeros_like(slopes)
    for k, unit in enumerate(np.eye(tree.nv)):
        ahead, behind = (model.slopes(q[sample] + sign * step * unit, pair)[0] for sign in (1.0, -1.0))
        differences[:, k] = (ahead - behind) / (2 * step)
    errors = np.abs(differences - slopes).max(axis=1)
    assert np.quantile(errors, 0.98) < 1e-8  # the others are at edges, where the nearest points jump


def test_the_nearest_posture_of_a_path_is_that_of_brute_force(tree: Robot) -> None:
    model = model_of(tree, **WALLS)
    t = np.linspace(0.0, 1.0, 700)[:, None]
    ends = postures(tree, 2, seed=3)
    q = ends[0] + (ends[1] - ends[0]) * t + 0.3 * np.sin(9 * t)
    every = model.clearances(q, np.inf)
    nearest, at = model.nearest(q)
    assert np.allclose(nearest, every.min(axis=0), atol=2e-6)
    assert np.allclose(every[at, np.arange(len(at))], nearest, atol=2e-6)


def test_what_comes_near_for_a_moment_is_found_below_any_distance(tree: Robot) -> None:
    model = model_of(tree, **WALLS)
    some = postures(tree, 60, seed=3)
    distances = model.clearances(some, np.inf)
    pair = int(np.argmax(np.ptp(distances, axis=0)))
    far, near = some[np.argmax(distances[:, pair])], some[np.argmin(distances[:, pair])]
    moment = np.exp(-(((np.arange(700) - 361) / 2.0) ** 2))[:, None]  # between the postures that are looked at first
    q = far + (near - far) * moment
    least = model.clearances(q, np.inf)[:, pair].min()
    assert model.nearest(q, below=least + 1e-3)[0][pair] == pytest.approx(least, abs=2e-6)


def test_nearest_points_are_as_far_apart_as_the_smallest_of_all_distances(tree: Robot) -> None:
    model = model_of(tree, **WALLS)
    for q in postures(tree, 20, seed=3):
        all_of_them = model.clearances(q[None, :], 10.0)[0]
        found = model.nearest_points(q)
        assert found is not None
        assert found.distance == pytest.approx(all_of_them.min(), abs=1e-9)
        assert found.pair == model.pairs[int(np.argmin(all_of_them))].name
        assert np.linalg.norm(found.second - found.first) == pytest.approx(abs(found.distance), abs=1e-6)
    assert replace(model, pairs=()).nearest_points(postures(tree, 1)[0]) is None


def test_distances_are_lower_bounds_beyond_what_is_asked_for(tree: Robot) -> None:
    model, q = model_of(tree, **WALLS), postures(tree, 100)
    exact, some = model.clearances(q, np.inf), model.clearances(q, 0.05)
    assert np.allclose(some[exact < 0.05], exact[exact < 0.05])
    assert (some <= exact + 1e-9).all()
    assert (some[exact >= 0.05] >= 0.05 - 1e-12).all()
    broken = model.clearances(q, 0.05, enough=0.0)
    assert (broken.min() <= 0.0) == (exact.min() <= 0.0)


def test_distances_of_the_panda_are_those_of_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheels for this system")
    path = example_robot_file("panda.urdf")
    folder = path.parents[2]
    robot = dynid.load_robot(path, lock=["panda_finger_joint1"])
    theirs = pin.buildModelFromUrdf(str(path))
    shapes = pin.buildGeomFromUrdf(theirs, str(path), pin.GeometryType.COLLISION, package_dirs=[str(folder.parents[1])])
    for one in shapes.geometryObjects:
        if isinstance(one.geometry, coal.BVHModelBase):
            one.geometry.buildConvexHull(True, "Qt")
            one.geometry = one.geometry.convex
    mine = model_of(robot, floor=False)
    frames = [theirs.frames[one.parentFrame].name for one in shapes.geometryObjects]
    q = postures(robot, 5)
    found = mine.clearances(q, np.inf)
    state, placed = theirs.createData(), pin.GeometryData(shapes)
    for sample, posture in enumerate(q):
        pin.updateGeometryPlacements(theirs, state, shapes, placed, np.concatenate([posture, [0.0, 0.0]]))
        for k, pair in enumerate(mine.pairs):
            bodies = {(mine.solids[a].body, mine.solids[b].body) for a, b in pair.parts}
            both = [(i, j) for i, one in enumerate(frames) for j, other in enumerate(frames) if (one, other) in bodies]
            smallest = min(distance_of(shapes, placed, i, j) for i, j in both)
            assert found[sample, k] == pytest.approx(smallest, abs=1e-6), pair.name


def distance_of(shapes: object, placed: object, i: int, j: int) -> float:
    one, other = (shapes.geometryObjects[k].geometry for k in (i, j))  # type: ignore[attr-defined]
    at = [coal.Transform3s(placed.oMg[k].rotation, placed.oMg[k].translation) for k in (i, j)]  # type: ignore[attr-defined]
    return float(coal.distance(one, at[0], other, at[1], coal.DistanceRequest(), coal.DistanceResult()))


@given(st.integers(0, 10_000))
def test_capsules_hold_their_points_and_segments_are_as_far_as_samples_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rng.integers(1, 30), 3)) * rng.uniform(0.01, 1.0, 3)
    around = Capsule.around(points)
    near, _ = closest_points(around.begin, around.end, points, points)
    assert (np.linalg.norm(near - points, axis=1) <= around.radius + 1e-9).all()
    a0, a1, b0, b1 = rng.normal(size=(4, 3))
    p, q = closest_points(a0, a1, b0, b1)
    t = np.linspace(0.0, 1.0, 60)[:, None]
    brute = np.linalg.norm((a0 + t * (a1 - a0))[:, None] - (b0 + t * (b1 - b0))[None], axis=2).min()
    assert brute - 0.05 <= np.linalg.norm(p - q) <= brute + 1e-12


def problem_of_tree(tree: Robot) -> tuple[ExcitationProblem, ClearanceLimit]:
    settings = ExcitationSettings.model_validate({"harmonics": 2, "period": 4.0, **WALLS})
    problem, _ = problem_of(dynid.DynamicModel(tree), settings)
    limit = problem.limits[-1]
    assert isinstance(limit, ClearanceLimit)
    return problem, limit


def test_slopes_of_the_limit_equal_finite_differences(tree: Robot) -> None:
    problem, limit = problem_of_tree(tree)
    x = random_start(problem, np.random.default_rng(2))
    motion = problem.motion(x)
    nearest, _ = limit.moving.nearest(problem.trajectory(x).states(np.linspace(0.0, 4.0, 2000))[0])
    limit = replace(limit, clearance=float(nearest.min()) - 0.01)
    slacks = limit.slacks(motion)
    which = np.flatnonzero(slacks < 0.4)[::7]
    assert len(which) > 5
    rows, step = limit.slopes(motion, which), 1e-6
    for k in range(0, len(x), 3):
        unit = step * np.eye(len(x))[k]
        ahead, behind = (limit.slacks(problem.motion(x + sign * unit))[which] for sign in (1.0, -1.0))
        assert np.allclose(rows[:, k], (ahead - behind) / (2 * step), atol=2e-5)


@pytest.fixture(scope="module")
def planar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two links that turn about level axes, above a floor."""
    path = tmp_path_factory.mktemp("planar") / "planar.urdf"
    path.write_text(
        "".join(
            [
                '<robot name="planar">',
                body("base", shape('<box size="0.1 0.1 0.3"/>', "0 0 0.15")),
                body("upper", shape('<box size="0.3 0.06 0.06"/>', "0.15 0 0")),
                body("lower", shape('<box size="0.3 0.06 0.06"/>', "0.15 0 0")),
                joint("j1", "revolute", "base", "upper", "0 1 0", xyz="0 0 0.3"),
                joint("j2", "revolute", "upper", "lower", "0 1 0", xyz="0.3 0 0"),
                "</robot>",
            ]
        )
    )
    return path


QUICK = {"harmonics": 2, "period": 4.0, "starts": 1, "time_limit": 60.0, "acceleration": 8.0}


def test_designs_keep_away_from_the_floor_and_from_boxes(planar: Path) -> None:
    box = [{"centre": (0.45, 0.0, 0.5), "size": (0.2, 0.2, 0.2), "name": "box"}]
    free = dynid.excite(planar, collisions=False, **QUICK)
    kept = dynid.excite(planar, obstacle=box, **QUICK)
    model = model_of(free.robot, obstacle=box)
    t = np.arange(0.0, 4.0, 1e-3)
    assert model.nearest(free.trajectory.states(t)[0])[0].min() < 0.0
    assert model.nearest(kept.trajectory.states(t)[0])[0].min() >= 0.02
    assert not kept.broken
    named = [check for check in kept.designs[0].checks if check.name.startswith("clearance of")]
    assert named
    assert all(check.time is not None and check.to_dict()["time"] == check.time for check in named)
    broken = [check for check in kept.designs[0].problem.checks(free.trajectory, t) if not check.is_kept]
    assert any("at " in check.in_words() and "s, and 0.02 m is needed" in check.in_words() for check in broken)


def test_a_posture_in_collision_is_refused_and_named(planar: Path) -> None:
    for key in ("start", "home"):
        with pytest.raises(DynidError, match=f"in the {key} posture lower-floor overlap"):
            dynid.excite(planar, settings={key: (1.4, 0.0)}, **QUICK)
    result = CliRunner().invoke(app, ["excite", str(planar), "--start", "1.4,0"])
    assert result.exit_code == 2
    assert "lower-floor" in " ".join(result.stderr.split())


def codes(robot: Path | Robot, **keys: object) -> dict[str, dict[str, object]]:
    loaded = robot if isinstance(robot, Robot) else dynid.load_robot(robot)
    settings = ExcitationSettings.model_validate(keys)
    found = collisions_of(settings, loaded, joint_limits(settings, loaded))
    return {finding.code: dict(finding.values) for finding in found.findings}


def test_robots_that_do_not_stand_have_no_floor_unless_stated(planar: Path) -> None:
    assert "floor at 0 m" in str(codes(planar)["collisions-checked"]["floor"])
    hanging = dynid.load_robot(planar, gravity=(0.0, 0.0, 9.81))
    assert "hangs" in str(codes(hanging)["collisions-checked"]["floor"])
    assert "at 0.1 m" in str(codes(hanging, floor=0.1)["collisions-checked"]["floor"])
    assert "as stated" in str(codes(planar, floor=False)["collisions-checked"]["floor"])
    pendulum = dynid.load_robot("builtin:pendulum")
    assert "swings below" in str(codes(pendulum)["collisions-checked"]["floor"])
    assert "collision-shapes-assumed" in codes(dynid.load_robot("builtin:lwr4"))


@pytest.mark.parametrize("name", ["pendulum", "two_link", "spatial_3r"])
def test_last_links_without_shapes_reach_beyond_their_centres_of_mass(name: str) -> None:
    """A last link is at least where its mass is; otherwise it could go through the floor unseen."""
    robot = dynid.load_robot(f"builtin:{name}")
    last = len(robot.links) - 1
    centre = robot.links[last].parameters[1:4] / robot.links[last].parameters[0]
    capsules = [solid.capsule for solid in solids_of(robot).solids if solid.link == last]
    away = [
        float(np.linalg.norm(np.subtract(*closest_points(centre, centre, one.begin, one.end)))) - one.radius
        for one in capsules
    ]
    assert min(away) < 0.0


def test_missing_meshes_are_named_and_capsules_stand_in(planar: Path, tmp_path: Path) -> None:
    text = planar.read_text().replace('<box size="0.3 0.06 0.06"/>', '<mesh filename="arm.stl"/>', 1)
    path = tmp_path / "lost.urdf"
    path.write_text(text)
    found = codes(path)
    assert found["collision-meshes-unread"]["meshes"] == ["mesh of upper"]
    solids = solids_of(dynid.load_robot(path))
    assert [len(solid.points) for solid in solids.solids if solid.body == "upper"] == [2]


def test_an_srdf_file_beside_the_urdf_says_which_pairs_may_touch(tree: Robot, tmp_path: Path) -> None:
    assert "other-hand" in [pair.name for pair in model_of(tree).pairs]
    path = tmp_path / "tree.urdf"
    path.write_text(TREE)
    (tmp_path / "tree.srdf").write_text(
        '<robot name="tree"><disable_collisions link1="hand" link2="other" reason="User"/></robot>'
    )
    robot = dynid.load_robot(path)
    assert "other-hand" not in [pair.name for pair in model_of(robot).pairs]
    assert "other-hand" not in [pair.name for pair in model_of(tree, ignore_pairs=[("other", "hand")]).pairs]
    with pytest.raises(DynidError, match="ignore_pairs names 'nobody'"):
        model_of(tree, ignore_pairs=[("nobody", "hand")])
    with pytest.raises(SemanticFileError, match="is no SRDF file"):
        model_of(tree, srdf=str(path))


MJCF = """<mujoco><asset><mesh name="wedge" vertex="0 0 0  0.2 0 0  0 0.2 0  0 0 0.2"/></asset><worldbody>
<body name="a" pos="0 0 0.5"><joint name="j1" axis="0 1 0" range="-1 1" limited="true"/>
<geom type="mesh" mesh="wedge" mass="1"/>
<body name="b" pos="0.5 0 0"><joint name="j2" axis="0 1 0" range="-1 1" limited="true"/><geom size="0.05" mass="1"/>
<body name="c" pos="0.5 0 0"><joint name="j3" axis="0 1 0" range="-3 3" limited="true"/>
<geom type="capsule" size="0.04 0.2" mass="1"/></body></body></body></worldbody>
<contact>{exclude}</contact></mujoco>"""


def test_meshes_of_mjcf_are_hulls_and_excluded_bodies_may_touch(tmp_path: Path) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(MJCF.format(exclude=""))
    robot = dynid.load_robot(path)
    wedge = next(solid for solid in solids_of(robot).solids if solid.body == "a")
    assert sorted(np.round(np.ptp(wedge.points, axis=0), 6)) == [0.2, 0.2, 0.2]
    assert len(wedge.points) == 4
    corners = {(0.0, 0.0, 0.0), (0.2, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 0.2)}
    assert {tuple((np.round(point, 6) + 0.0).tolist()) for point in wedge.points} == corners
    assert "c-a" in [pair.name for pair in model_of(robot).pairs]
    path.write_text(MJCF.format(exclude='<exclude body1="a" body2="c"/>'))
    assert "c-a" not in [pair.name for pair in model_of(dynid.load_robot(path)).pairs]


def built_in() -> Iterator[tuple[str, str, tuple[str, ...], np.ndarray]]:
    yield "ur5", "ur5_robot.urdf", (), np.diag([-1.0, -1.0, 1.0])
    yield "panda", "panda.urdf", ("panda_finger_joint1",), np.eye(3)


@pytest.mark.parametrize(("name", "file", "lock", "turn"), list(built_in()))
def test_shapes_of_built_in_robots_hold_the_public_meshes(
    name: str, file: str, lock: tuple[str, ...], turn: np.ndarray
) -> None:
    robot = dynid.load_robot(f"builtin:{name}")
    public = dynid.load_robot(example_robot_file(file), lock=lock)
    q = np.full((1, robot.nv), 0.3)
    R, p = joint_poses(robot, q)
    Rp, pp = joint_poses(public, q)
    for solid in solids_of(public).solids:
        if "finger" in solid.body or solid.body == "ee_link":
            continue
        k = solid.link
        world = (solid.points if k < 0 else solid.points @ Rp[k, 0].T + pp[k, 0]) @ turn.T
        local = world if k < 0 else (world - p[k, 0]) @ R[k, 0]
        own = [one for one in solids_of(robot).solids if one.link == k]
        assert max(min(outside(one, point) for one in own) for point in local) < 0.004, solid.body


def outside(solid: object, point: np.ndarray) -> float:
    """How far [m] a point is outside a solid."""
    shape, at = solid.shape  # type: ignore[attr-defined]
    dot = coal.Sphere(1e-6)
    where = coal.Transform3s(np.eye(3), point)
    own = coal.Transform3s(np.array(at[:3, :3]), np.array(at[:3, 3]))
    return float(coal.distance(shape, own, dot, where, coal.DistanceRequest(), coal.DistanceResult()))


def test_ways_home_lead_around_what_is_between(planar: Path) -> None:
    post = [{"centre": (0.45, 0.0, 0.3), "size": (0.1, 0.2, 0.1), "name": "post"}]
    robot = dynid.load_robot(planar)
    settings = {"obstacle": post, "home": (0.9, -0.9), "start": (-1.2, -0.5), "floor": False}
    found = dynid.excite(robot, **QUICK, **settings)
    model = model_of(robot, obstacle=post, floor=False)
    ends = np.array([settings["home"], settings["start"]])
    straight = ends[0] + np.linspace(0.0, 1.0, 500)[:, None] * (ends[1] - ends[0])
    assert model.nearest(straight)[0].min() < 0.0
    for name, way in found.ways(found.designs[0]).items():
        q, v, _ = way.states(np.linspace(0.0, way.duration, 3000))
        assert model.nearest(q)[0].min() >= 0.02 - 1e-6
        wanted = ends if name == "approach" else ends[::-1]
        assert np.allclose(q[[0, -1]], wanted)
        assert np.abs(v).max() <= 0.2 + 1e-9  # a tenth of the limit
    assert not found.broken
