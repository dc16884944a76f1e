"""The human body as a robot: tables of segments, and the skeleton that holds them.

* `anthropometry`: segments of women and men in the tables of De Leva (1996) and Dumas (2007);
* `skeleton`: joints, markers and shapes; `human_body`: `human`, a body of a sex, a height and a mass.
"""
