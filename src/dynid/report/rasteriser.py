"""Triangles to a shaded picture, without a graphics card: a depth buffer, shading in NumPy, and PNG by hand."""

import base64
import struct
import zlib
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array

LIGHT = np.array([-0.35, 0.55, 0.76])
"""Direction towards the light: right, up, towards the viewer."""

HALFWAY = LIGHT / np.linalg.norm(LIGHT) + np.array([0.0, 0.0, 1.0])
HALFWAY = HALFWAY / np.linalg.norm(HALFWAY)
"""Where a surface shines: half way between the light and the viewer."""

OVERSAMPLING = 2
"""Pixels that are drawn along each side of one of the picture."""

FARTHEST = -1e9
"""How near [m] what is not covered is."""

DEEP = 0.03
"""A step in depth of this part of a picture's size is drawn as a line."""


@dataclass(frozen=True, eq=False)
class Camera:
    """A parallel view of a scene.

    Attributes:
        axes: Unit vectors to the right, up, and towards the viewer, shape (3, 3).
        corner: Lower left corner of the picture [m], right and up.
        size: Width and height of the picture [m].
        scale: Pixels per metre.
    """

    axes: Array
    corner: Array
    size: Array
    scale: float

    @classmethod
    def around(cls, points: Array, axes: Array, width: int, margin: float = 0.06) -> "Camera":
        """The view along these axes that shows all points, with room around them, so many pixels wide or high."""
        flat = points @ axes[:2].T
        low, high = flat.min(axis=0), flat.max(axis=0)
        extent = float((high - low).max())
        room = margin * extent if extent > 0.0 else 0.1
        size = high - low + 2 * room
        return cls(axes, low - room, size, width / float(size.max()))

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height in pixels."""
        width, height = np.ceil(self.size * self.scale).astype(int).tolist()
        return width, height

    def project(self, points: Array) -> Array:
        """Pixels from the left and from the top, and height above the picture [m]; (..., 3) to (..., 3)."""
        seen = points @ self.axes.T
        x = (seen[..., 0] - self.corner[0]) * self.scale
        y = (self.corner[1] + self.size[1] - seen[..., 1]) * self.scale
        return np.stack([x, y, seen[..., 2]], axis=-1)


def picture(triangles: Array, normals: Array, colours: Array, parts: np.ndarray, camera: Camera) -> np.ndarray:
    """Draw triangles as solid bodies with a light, and dark lines where one part ends in front of another.

    Args:
        triangles: Corners [m], shape (triangles, 3, 3).
        normals: Normals of the surface at the corners, of any length and either side, shape (triangles, 3, 3).
        colours: Red, green and blue of each, from 0 to 1, shape (triangles, 3).
        parts: Which part each belongs to, shape (triangles,).
        camera: The view.

    Returns:
        Red, green, blue and opacity, bytes of shape (height, width, 4).
    """
    from dynid.report.compiled_pixels import visible

    width, height = (OVERSAMPLING * n for n in camera.pixels)
    corners = camera.project(triangles) * np.array([OVERSAMPLING, OVERSAMPLING, 1.0])
    nearest, depth = visible(corners, width, height, FARTHEST)
    shown = np.flatnonzero(nearest >= 0)
    which = nearest[shown]
    shares = _shares(corners[which], shown % width, shown // width)
    n = np.einsum("ik,ikx->ix", shares, normals[which]) @ camera.axes.T
    n /= np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)
    n *= np.where(n[:, 2:] < 0.0, -1.0, 1.0)
    bright = 0.4 + 0.6 * np.clip(n @ (LIGHT / np.linalg.norm(LIGHT)), 0.0, 1.0)
    gloss = 0.18 * np.clip(n @ HALFWAY, 0.0, 1.0) ** 30
    of_part = np.full(width * height, -1)
    of_part[shown] = parts[which] + 1
    edges = _edges(of_part.reshape(height, width), depth.reshape(height, width), float(camera.size.max())).ravel()[
        shown
    ]
    shaded = np.clip(colours[which] * bright[:, None] + gloss[:, None], 0.0, 1.0) * np.where(edges, 0.45, 1.0)[:, None]
    image = np.zeros((width * height, 4), dtype=np.float32)
    image[shown] = np.concatenate([shaded, np.ones((len(shown), 1))], axis=1)
    return _reduced(image.reshape(height, width, 4))


def _reduced(image: np.ndarray) -> np.ndarray:
    """A picture with fewer pixels, in bytes; shades are rounded, which makes files small."""
    n = OVERSAMPLING
    small = np.sum([image[i::n, j::n] for i in range(n) for j in range(n)], axis=0) / np.float32(n * n)
    colour = small[..., :3] / np.maximum(small[..., 3:], 1e-6)  # what is not covered is black, and does not count
    return np.round(255 * np.concatenate([np.round(colour * 51) / 51, small[..., 3:]], axis=2)).astype(np.uint8)


def coverage(points: Array, triangles: np.ndarray, camera: Camera) -> Array:
    """The share of samples of moving triangles that cover each pixel, shape (height, width).

    Args:
        points: Corners in each sample [m], shape (samples, n, 3).
        triangles: Indices of the corners of each triangle, shape (triangles, 3).
        camera: The view.
    """
    from dynid.report.compiled_pixels import visible

    width, height = camera.pixels
    count = np.zeros(width * height)
    for placed in camera.project(points):
        count += visible(placed[triangles], width, height, FARTHEST)[0] >= 0
    return (count / len(points)).reshape(height, width)


def smooth(values: Array) -> Array:
    """Values of shape (rows, columns), each the mean of itself and its neighbours."""
    for _ in range(2):  # rows, then columns
        around = np.pad(values, ((1, 1), (0, 0)), mode="edge")
        values = ((around[:-2] + around[1:-1] + around[2:]) / 3.0).T
    return values


def enlarged(values: Array, width: int, height: int) -> Array:
    """Values of shape (rows, columns), interpolated to (height, width)."""
    for size in (height, width):  # rows, then the others
        at = np.clip((np.arange(size) + 0.5) * len(values) / size - 0.5, 0.0, len(values) - 1.0)
        low = np.minimum(at.astype(int), max(len(values) - 2, 0))
        share = (at - low)[:, None]
        values = ((1.0 - share) * values[low] + share * values[np.minimum(low + 1, len(values) - 1)]).T
    return values


def blended(image: np.ndarray, colour: Array, opacity: Array) -> np.ndarray:
    """A picture, bytes of shape (height, width, 4), in front of a colour of some opacity, shape (height, width)."""
    front = image[..., 3] / 255.0
    behind = opacity * (1.0 - front)
    alpha = front + behind
    mixed = image[..., :3] * front[..., None] + 255.0 * colour * behind[..., None]
    mixed /= np.maximum(alpha, 1e-9)[..., None]
    return np.round(np.concatenate([mixed, 255.0 * alpha[..., None]], axis=2)).astype(np.uint8)


def _twice_area(p: Array, q: Array, x: np.ndarray, y: np.ndarray) -> Array:
    return (q[:, 0] - p[:, 0]) * (y - p[:, 1]) - (q[:, 1] - p[:, 1]) * (x - p[:, 0])


def _shares(corners: Array, x: np.ndarray, y: np.ndarray) -> Array:
    """Barycentric coordinates of one pixel in each triangle, shape (triangles, 3)."""
    a, b, c = (corners[:, k] for k in range(3))
    areas = np.stack([_twice_area(*pair, x, y) for pair in ((b, c), (c, a), (a, b))], axis=1)
    return areas / areas.sum(axis=1, keepdims=True)


def _edges(parts: np.ndarray, near: Array, size: float) -> np.ndarray:
    """Pixels of the nearer side of a border between parts, or of a step in depth."""
    edges = np.zeros(parts.shape, dtype=bool)
    ahead, behind = slice(1, None), slice(None, -1)
    for first, second in (((ahead,), (behind,)), ((slice(None), ahead), (slice(None), behind))):
        step = near[first] - near[second]
        border = parts[first] != parts[second]
        edges[first] |= (border & (step >= 0.0)) | (step > DEEP * size)
        edges[second] |= (border & (step < 0.0)) | (step < -DEEP * size)
    return edges


def png(image: np.ndarray) -> str:
    """A picture, bytes of shape (height, width, 4), as the address of a PNG file that stands in a page."""
    height, width, channels = image.shape
    rows = image.astype(np.int16).reshape(height, width * channels)
    differences = np.diff(rows, axis=0, prepend=0).astype(np.uint8)  # each row less the one above: filter 2
    filtered = np.concatenate([np.full((height, 1), 2, dtype=np.uint8), differences], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes(), 9)), (b"IEND", b""))
    content = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)
    return f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
