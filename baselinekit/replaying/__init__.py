"""Recipe -> Observation. Called from outside: `dispatch`, and `client`, which cli builds."""
