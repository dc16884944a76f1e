"""MJCF texts of all kinds of joints and bodies for tests."""

from __future__ import annotations

INERTIAL = '<inertial pos=".1 -.05 .2" quat=".9 .1 -.2 .3" mass="1.3" diaginertia=".03 .02 .04"/>'
TIP = f'<body name="tip" pos=".1 .2 .3" euler=".2 .3 -.4"><joint name="last" axis="1 2 3"/>{INERTIAL}</body>'


MODELS = {
    "hinge with an anchor and an odd axis": f"""
        <body pos="1 2 3" quat=".5 .1 .2 -.7"><joint pos=".3 -.1 .2" axis="1 -2 .5"/>{INERTIAL}{TIP}</body>""",
    "slide": f"""
        <body pos="1 2 3"><joint type="slide" pos=".3 -.1 .2" axis="1 -2 .5"/>{INERTIAL}{TIP}</body>""",
    "ball with an anchor": f"""
        <body pos="1 2 3" euler=".1 .2 .3"><joint type="ball" pos=".3 -.1 .2"/>{INERTIAL}{TIP}</body>""",
    "free base with an arm": f"""
        <body pos="1 2 3" euler=".1 .2 .3"><freejoint/>{INERTIAL}{TIP}</body>""",
    "aligned free base": f"""
        <body pos="1 2 3" euler=".1 .2 .3"><freejoint align="true"/>{INERTIAL}{TIP}</body>""",
    "two free bodies": f"""
        <body><freejoint/>{INERTIAL}</body><body><joint type="free"/>{INERTIAL}{TIP}</body>""",
    "two joints on a body": f"""
        <body euler=".3 .2 .1"><joint pos=".1 .2 .3" axis="1 0 1"/><joint pos="-.2 0 .1" axis="0 1 .3"/>{INERTIAL}{TIP}
        </body>""",
    "three joints on a body": f"""
        <body pos="0 1 0" euler=".3 .2 .1"><joint type="slide" pos="1 0 0" axis="1 1 0" ref=".2"/>
        <joint pos="-.2 0 .1" axis="0 1 .3" ref="-.7"/><joint type="ball" pos=".1 .2 .3"/>{INERTIAL}{TIP}</body>""",
    "three hinges on a body": f"""
        <body pos="0 1 0"><joint pos=".1 0 .3" axis="1 0 0" ref=".2"/><joint pos=".2 .1 0" axis="0 1 0"/>
        <joint pos="0 .3 .1" axis="1 0 1" ref="-.7"/>{INERTIAL}{TIP}</body>""",
    "nested bodies, some welded": f"""
        <body pos="0 0 1" quat="1 1 0 0">{INERTIAL}<body pos=".1 0 0" quat="1 0 1 0"><joint axis="0 0 1"/>{INERTIAL}
        <body pos="0 .2 .1" quat="1 2 3 4">{INERTIAL}{TIP}</body></body></body>""",
    "position that the file is drawn in": f"""
        <body><joint name="h" pos=".1 0 .2" axis="0 1 1" ref=".6"/>{INERTIAL}
        <body><joint type="slide" axis="0 1 1" ref="-.3"/>{INERTIAL}{TIP}</body></body>""",
    "inertia from shapes": f"""
        <body><joint axis="0 1 0"/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/>
        <geom type="capsule" fromto="0 0 0 .3 .2 .1" size=".05" mass="2"/>{TIP}</body>""",
    "motor inertia and friction": f"""
        <body><joint axis="0 1 0" armature=".5" damping="2" frictionloss="3" stiffness="4"/>{INERTIAL}{TIP}</body>""",
}


DEGREES = f"""
    <mujoco><compiler angle="degree" eulerseq="zyx"/>
    <default><joint axis="0 1 0"/><default class="arm"><joint axis="1 0 1" pos=".1 .2 0" ref="40"/></default></default>
    <worldbody><body euler="30 -40 50"><joint/>{INERTIAL}
    <body childclass="arm" pos="0 0 .3" axisangle="1 1 0 70"><joint/><joint class="main"/>{INERTIAL}</body></body>
    </worldbody></mujoco>"""


FOLLOWERS = f"""
    <mujoco><compiler angle="radian"/><worldbody><body>
    <joint name="leader" axis="0 1 0" ref=".4"/>{INERTIAL}<body pos="0 0 .3">
    <joint name="finger" type="slide" axis="1 0 0" ref=".1"/>{INERTIAL}<body pos="0 .1 .2">
    <joint name="free" axis="1 0 1"/>{INERTIAL}{TIP}</body></body></body></worldbody>
    <equality><joint joint1="finger" joint2="leader" polycoef=".05 -.3 0 0 0"/>
    <joint joint1="last" joint2="finger" polycoef="0 2 0 0 0"/></equality></mujoco>"""


def wrapped(bodies: str, more: str = "", compiler: str = "") -> str:
    return f"""<mujoco model="robot"><compiler angle="radian" {compiler}/>
        <worldbody><geom type="plane" size="1 1 1"/>{bodies}</worldbody>{more}</mujoco>"""


TEXTS = {name: wrapped(bodies) for name, bodies in MODELS.items()} | {"degrees": DEGREES, "followers": FOLLOWERS}

TILTED = """
<mujoco model="beast">
  <compiler angle="degree"/>
  <option gravity="0.3 -0.2 -9.7"/>
  <worldbody>
    <body name="trunk" pos="0.1 -0.2 0.7" euler="20 -35 50">
      <freejoint name="{name}"/>
      <inertial pos="0.01 0.02 0.03" mass="4" diaginertia="0.1 0.2 0.25"/>
      <body name="leg" pos="0.2 0.1 0" euler="10 0 30">
        <joint name="hip" axis="0 1 0" range="-90 90"/>
        <inertial pos="0 0.03 -0.1" mass="1.5" diaginertia="0.02 0.03 0.01"/>
        <body name="foot" pos="0 0 -0.3">
          <joint name="slide" type="slide" axis="0.6 0 0.8" range="-1 1"/>
          <inertial pos="0.02 0 -0.05" mass="0.5" diaginertia="0.002 0.003 0.001"/>
        </body>
      </body>
    </body>
    <body name="tail" pos="0 0 1"><geom size="0.1"/></body>
  </worldbody>
</mujoco>
"""
"""A robot whose floating base the file draws tilted, with a leg that turns and a foot that slides."""
