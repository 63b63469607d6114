"""Recipe -> Observation. Called from outside: `dispatch`, and the doors (`http`, `process`) to build them."""
