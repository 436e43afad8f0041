"""`lab.up --real`: one real Debian host left up for a person, with the lab's own stand-in workers as its units."""
