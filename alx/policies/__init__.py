"""The policy files that users load, each with a card."""
