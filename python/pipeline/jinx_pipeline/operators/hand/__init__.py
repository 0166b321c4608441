"""Operators on the motion of hands in videos, as research code for hands and cameras finds it."""
