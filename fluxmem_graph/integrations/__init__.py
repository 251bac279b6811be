"""Doors for agents and their frameworks; each module needs its framework, and nothing else imports it."""
