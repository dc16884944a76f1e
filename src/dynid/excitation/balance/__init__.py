"""Postures and motions of robots that stand on the ground, in balance."""
