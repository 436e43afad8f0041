"""Shell scripts as a syntax tree: parsed by mvdan/sh, read as the environment they give, rewritten by byte splices."""
