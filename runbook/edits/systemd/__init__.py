"""systemd's own file syntaxes: environment files and unit files."""
