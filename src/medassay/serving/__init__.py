"""The score server: metrics kept warm behind HTTP (extra `serve`)."""
