"""Device memory: the allocator of one device's address range."""


class Allocator:
    """To be filled in."""
