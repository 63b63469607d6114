"""What `baselinekit demo` needs: a small service that behaves like a real one."""
