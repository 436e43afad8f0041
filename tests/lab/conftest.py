from tests.lab.fixtures import fresh_lab, lab, shell, small_lab

__all__ = ["fresh_lab", "lab", "shell", "small_lab"]
