"""Samples that wait for people: tasks, answers in files and in Label Studio, and notifications."""
