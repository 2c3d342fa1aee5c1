"""The web pages of a study: annotators' tasks and the coordinator's overview."""
