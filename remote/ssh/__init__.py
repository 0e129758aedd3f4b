"""The way to a host over SSH: what its name means, who it is, who the user is, and the channels of one connection."""
