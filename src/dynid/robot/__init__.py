"""What the machine is: files, frames, joints, links and their inertia."""
