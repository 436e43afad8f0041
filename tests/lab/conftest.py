from tests.lab.fixtures import fresh_lab, lab, shell

__all__ = ["fresh_lab", "lab", "shell"]
