"""Pools and decisions as one page that needs no network."""
