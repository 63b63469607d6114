"""For `baselinekit demo`: a small service that behaves like a real one."""
