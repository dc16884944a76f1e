import pytest
from scipy.special import chdtri, stdtrit

from dynid.estimation.quantiles import chi_square_quantile, student_quantile


@pytest.mark.parametrize("freedom", [1, 7, 500, 501, 3000, 10**7])
@pytest.mark.parametrize("probability", [0.5005, 0.75, 0.975, 0.9995, 0.9999995])
def test_student_is_that_of_scipy(freedom: int, probability: float) -> None:
    assert student_quantile(freedom, probability) == pytest.approx(stdtrit(freedom, probability), rel=1e-9)


@pytest.mark.parametrize("freedom", [*range(1, 30), 100])
@pytest.mark.parametrize("chance", [0.2, 0.01, 0.001, 1e-9])
def test_chi_square_is_that_of_scipy(freedom: int, chance: float) -> None:
    assert chi_square_quantile(freedom, chance) == pytest.approx(chdtri(freedom, chance), rel=1e-11)
