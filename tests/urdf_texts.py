"""Small URDF texts for tests."""

from __future__ import annotations

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LIMIT = '<limit lower="-1" upper="1" velocity="2" effort="3"/>'


def joint(name: str, parent: str, child: str, inside: str = LIMIT, kind: str = "revolute") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def urdf(*elements: str, links: tuple[str, ...] = ("base", "arm")) -> str:
    bodies = "".join(f'<link name="{name}">{INERTIAL}</link>' for name in links)
    return f'<robot name="test">{bodies}{"".join(elements)}</robot>'


BOMB = """<?xml version="1.0"?>
<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<robot name="&b;"><link name="a"/></robot>"""
