"""The recipe of the reader, the model that judges a statement against a text (role `checker`)."""
