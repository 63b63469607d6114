"""AgentV: its eval files, the rubrics that are drafted for them, and its results. Tables name the modules."""
