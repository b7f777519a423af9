"""Luck: named tapes of uniforms, the laws that read them, and the arms."""
