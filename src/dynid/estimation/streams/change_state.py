"""What the loop of change detection carries from run to run, and what ends a run."""

NOTHING, RAISED, SETTLED = 0, 1, 2
"""What ended a run: the last sample, a change that was noticed, or enough samples after one."""

SINCE, COUNT, USUAL_COUNT, USUAL_SQUARES, WHICH, WINDOW, EXCEEDED, CAUTIOUS = range(8)
"""Places in the state: time [s] since an alarm, negative while there is none, and samples since then; samples of the
time of learning, and the sum of their `w^2 r^2`; the hypothesis and the window that raised the alarm; how long a level
was exceeded [s]; what is left of the cautious time [s]."""

PLACES = 8
"""How many there are."""
