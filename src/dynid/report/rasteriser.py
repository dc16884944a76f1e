"""Triangles to a shaded picture, without a graphics card: a depth buffer in NumPy, and PNG by hand."""

import base64
import struct
import zlib
from collections.abc import Sequence
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

PIXELS_AT_ONCE = 2_000_000
"""Pixels of triangles' boxes that are looked at together, to bound memory."""


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
    width, height = (OVERSAMPLING * n for n in camera.pixels)
    corners = camera.project(triangles) * np.array([OVERSAMPLING, OVERSAMPLING, 1.0])
    nearest, depth = _visible(corners, width, height)
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


def _visible(corners: Array, width: int, height: int) -> tuple[np.ndarray, Array]:
    """Which triangle each pixel shows, -1 for none, and how near it is, both flat; corners in pixels, and nearness."""
    nearest, depth = np.full(width * height, -1), np.full(width * height, FARTHEST)
    low = np.clip(np.ceil(corners[..., :2].min(axis=1)), 0, [width, height]).astype(int)
    high = np.clip(np.floor(corners[..., :2].max(axis=1)) + 1, low, [width, height]).astype(int)
    boxes = _rounded_up(high - low)
    seen = (high > low).all(axis=1)
    for box in np.unique(boxes[seen], axis=0).tolist():
        own = np.flatnonzero(seen & (boxes == box).all(axis=1))
        step = max(1, PIXELS_AT_ONCE // (box[0] * box[1]))
        for first in range(0, len(own), step):
            some = own[first : first + step]
            pixel, near, which = _covered(corners[some], low[some], box, width, height)
            np.maximum.at(depth, pixel, near)
            front = near >= depth[pixel]
            nearest[pixel[front]] = some[which[front]]
    return nearest, depth


def _rounded_up(sizes: np.ndarray) -> np.ndarray:
    """Sizes of boxes, so that few are different and none is much larger than it must be."""
    step = np.maximum(2 ** np.floor(np.log2(np.maximum(sizes, 1)) - 1), 2).astype(int)
    return -(-sizes // step) * step


def _covered(
    corners: Array, low: np.ndarray, box: Sequence[int], width: int, height: int
) -> tuple[np.ndarray, Array, np.ndarray]:
    """Pixels inside of triangles, how near they are, and the triangle of each."""
    x = low[:, 0, None, None] + np.arange(box[0])[None, None, :]
    y = low[:, 1, None, None] + np.arange(box[1])[None, :, None]
    a, b, c = (corners[:, k, :, None, None] for k in range(3))
    area = _twice_area(a, b, c[:, 0], c[:, 1])
    turn = np.where(area < 0.0, -1.0, 1.0)
    of_a, of_b, of_c = (turn * _twice_area(*pair, x, y) for pair in ((b, c), (c, a), (a, b)))
    inside = (of_a >= 0.0) & (of_b >= 0.0) & (of_c >= 0.0) & (x < width) & (y < height) & (np.abs(area) > 1e-12)
    which, j, i = np.nonzero(inside)
    shares = np.stack([of_a[inside], of_b[inside], of_c[inside]], axis=1)
    near = (shares * corners[which, :, 2]).sum(axis=1) / shares.sum(axis=1)
    return (low[which, 1] + j) * width + low[which, 0] + i, near, which


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
