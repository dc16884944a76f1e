"""Rows of equations that are linear in the parameters, and those of joint torques."""

from collections.abc import Iterable, Iterator, Sequence

from dynid.arrays import Array
from dynid.model.chunks import Chunk, checked, rechunked
from dynid.model.dynamic_model import DynamicModel
from dynid.model.row_bases import RowBasis, row_bases
from dynid.model.stored_chunks import Segment, chunks_of

CHUNK_BYTES = 16_000_000
"""Size of the matrices of one chunk: small enough for the last cache, large enough for BLAS."""


class Rows:
    """Equations `W b = y` of a model, one kind for each of its rows.

    Args:
        model: The model.
        bases: Independent columns of each row.
        form: What the rows are: "torque", "power", "energy" or "momentum".
    """

    def __init__(self, model: DynamicModel, bases: Sequence[RowBasis], form: str = "torque") -> None:
        self.model = model
        self.bases = tuple(bases)
        self.form = form

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows."""
        return tuple(basis.joint for basis in self.bases)

    def predictors(self, parameters: Array) -> list[Array]:
        """For each row the values b with `W b` = y, of standard parameters, shape (parameters,)."""
        position = {name: k for k, name in enumerate(self.model.names)}
        return [basis.regrouping @ parameters[[position[name] for name in basis.names]] for basis in self.bases]


class TorqueRows(Rows):
    """The equations of joint torques: one row for each sample and observed joint.

    Attributes:
        layout: Where the independent columns of each row stand, with room for the torque behind them.
    """

    def __init__(self, model: DynamicModel) -> None:
        super().__init__(model, row_bases(model))
        self.layout = model.layout([basis.columns for basis in self.bases], spare=1)

    @property
    def samples_a_chunk(self) -> int:
        """Number of samples that are worked on at a time."""
        widths = [len(basis.columns) for basis in self.bases]
        return max(CHUNK_BYTES // (8 * max(sum(widths), 1)), 32 * max(widths), 1000)

    def matrices(self, chunk: Chunk) -> list[Array]:
        """For each observed row `[W | torque]` of its independent columns, shape (samples, base + 1)."""
        of_all_rows = self.layout.evaluate(chunk.q, chunk.v, chunk.a, chunk.temperature)
        matrices = [of_all_rows[row] for row in self.model.row_indices]
        for row, matrix in enumerate(matrices):
            matrix[:, -1] = chunk.torque[:, row]
        return matrices

    def of(self, samples: Iterable[Segment], block: int | None = None) -> Iterator[list[Array]]:
        """Rows `[W | torque]` of samples that count, weighted, a chunk of bounded size (or a block) at a time."""
        chunks = (checked(self.model, chunk) for chunk in chunks_of(samples))
        for chunk in rechunked(chunks, block or self.samples_a_chunk):
            yield _rows_that_count(self.matrices(chunk), chunk)  # unnamed: the next chunk needs the memory


def _rows_that_count(matrices: list[Array], chunk: Chunk) -> list[Array]:
    if chunk.weight is not None:
        matrices = [matrix * chunk.weight[:, row, None] for row, matrix in enumerate(matrices)]
    if chunk.keep is not None:
        matrices = [matrix[chunk.keep[:, row]] for row, matrix in enumerate(matrices)]
    return matrices
