"""A small unit manager with systemd's behaviour: unit files in, processes and `systemctl` answers out."""
