"""`python -m medassay`: the command line."""

from medassay.cli import main

if __name__ == "__main__":
    main()
