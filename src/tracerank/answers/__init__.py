"""WHAT WAS SAID: answers extracted, normalised, compared. Knows strings only; pools and methods build on it."""
