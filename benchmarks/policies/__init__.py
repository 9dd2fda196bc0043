"""The paper's policies, for comparison, and the recipes of all that is shipped."""
