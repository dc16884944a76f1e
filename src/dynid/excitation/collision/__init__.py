"""What a robot may not touch: itself, the floor, walls and boxes; distances with exact slopes."""
