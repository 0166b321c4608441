"""Samples that wait for people: their tasks, their answers in files and in Label Studio, and notifications."""
