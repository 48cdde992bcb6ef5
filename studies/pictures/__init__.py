"""Pictures of the pages for the documents: questions written for it, decided by the shipped selector, photographed.

The facts are real and told in our own words; the rollouts are invented. Nothing is measured here.
"""
