"""The commands, one file per command or group: parse options, call the rooms above, print.

Only `typer`, `medassay.console` and `medassay.errors` are imported at the top of these files: `medassay --help`
reads them all.
"""
