"""Requests in plain language: operators are searched, and a language model may make a recipe of them."""
