"""The result of an identification as an object: parameters, predictions, and how it looks in a notebook."""

from __future__ import annotations

import numpy as np
import pytest

import dynid
from dynid.errors import InvalidRequestError, UnknownNameError
from tests.practice_logs import MODEL, PROCESSING, TRUTH, in_memory, log, motion


@pytest.fixture(scope="module")
def result() -> dynid.Result:
    return dynid.identify(MODEL.robot, in_memory(log()), MODEL.terms, processing=PROCESSING)


def test_parameters_are_a_sequence_by_index_and_name(result: dynid.Result) -> None:
    parameters = result.parameters
    assert parameters.names == tuple(TRUTH)
    assert len(parameters) == len(TRUTH)
    assert parameters["fv1"] is parameters[parameters.names.index("fv1")]
    assert parameters[:3].names == parameters.names[:3]
    assert [row.value for row in parameters] == parameters.values.tolist()
    with pytest.raises(UnknownNameError, match="fv7"):
        parameters["fv7"]


def test_frames_have_one_row_per_parameter(result: dynid.Result) -> None:
    frame = result.parameters.to_frame()
    assert frame["name"].to_list() == list(TRUTH)
    assert frame["value"].to_list() == result.parameters.values.tolist()
    assert {"expression", "unit", "std", "lower", "upper", "bootstrap_std"} <= set(frame.columns)


def test_predictions_have_the_shape_of_states(result: dynid.Result) -> None:
    _, q, v, a, torque = motion()
    for physical in (False, True):
        predicted = result.predict(q, v, a, physical=physical)
        assert np.linalg.norm(predicted - torque) < 0.01 * np.linalg.norm(torque)
        assert np.allclose(result.predict(q[5], v[5], a[5], physical=physical), predicted[5], rtol=1e-12)
        assert np.allclose(result.predict(q[5].tolist(), v[5].tolist(), a[5].tolist(), physical=physical), predicted[5])


def test_standard_parameters_have_the_base_parameters_of_the_estimate(result: dynid.Result) -> None:
    assert np.allclose(result.base.to_base(result.standard_parameters()), result.parameters.values, rtol=1e-12)
    p = result.standard_parameters(physical=True)
    assert dict(zip(result.model.names, p.tolist(), strict=True)) == result.physical_values


def test_a_result_without_a_physical_fit_says_so() -> None:
    bare = dynid.identify(
        MODEL.robot, in_memory(log(seconds=5.0)), MODEL.terms, processing=PROCESSING, physical={"fit": False}
    )
    assert bare.physical is None
    assert bare.physical_values is None
    with pytest.raises(InvalidRequestError, match=r"physical\.fit"):
        bare.standard_parameters(physical=True)
    assert "physical" not in repr(bare)


def test_it_is_short_to_look_at(result: dynid.Result) -> None:
    assert repr(result).startswith("Result('two_link': 10 base parameters, relative error ")
    assert len(repr(result)) < 200
    assert len(repr(result.parameters)) < 200
    assert len(str(result.parameters).splitlines()) == 1 + len(result.parameters)
    html = result._repr_html_()
    assert all(row.name in html for row in result.parameters)
    assert "<script" not in html


def test_essential_parameters_are_some_of_all(result: dynid.Result) -> None:
    assert set(result.essential.names) <= set(result.parameters.names)
    assert result.record.essential_relative_error >= result.relative_error


def test_terms_of_a_result_in_memory_have_the_names_that_files_state(result: dynid.Result) -> None:
    assert result.term_names == ["viscous", "coulomb"]
