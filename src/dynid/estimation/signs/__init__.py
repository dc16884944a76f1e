"""Signs of torques that were logged without: phase retrieval on segments, decided by data and by physics."""

from dynid.estimation.signs.confidence import SIGN_THRESHOLDS, Word
from dynid.estimation.signs.decision import Mirror
from dynid.estimation.signs.recovered import Recovered, SegmentSign, SignsError
from dynid.estimation.signs.recovery import recover_signs
from dynid.estimation.signs.segments import Track

__all__ = ["SIGN_THRESHOLDS", "Mirror", "Recovered", "SegmentSign", "SignsError", "Track", "Word", "recover_signs"]
