"""The paper's claims at the paper's scale, on generated pools."""
