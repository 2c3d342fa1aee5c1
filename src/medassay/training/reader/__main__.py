"""`python -m medassay.training.reader prepare|train|export|fit …`: the steps of `make models`."""

from __future__ import annotations

import argparse
from pathlib import Path

from medassay.training.reader.recipe import ROUNDS


def main() -> None:
    """Parse the arguments and run one step."""
    parser = argparse.ArgumentParser(prog="python -m medassay.training.reader", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    prepare = steps.add_parser("prepare", help="pack pairs and base weights (no GPU)")
    for name in ("data", "corpus"):
        prepare.add_argument(f"--{name}", type=Path, required=True)
    prepare.add_argument("--levels", type=float, default=32.0, help="precision of the base's weights")
    train = steps.add_parser("train", help="train on what prepare wrote (GPU)")
    train.add_argument("--passes", type=float, default=1.0, help="a factor to the passes over the pairs")
    train.add_argument("--seconds", type=float, help="when training has to be over, whatever the passes")
    train.add_argument("--round", default="first", choices=ROUNDS, help="further: from a model set")
    export = steps.add_parser("export", help="write the graphs and the tables")
    for step in (prepare, export):
        step.add_argument("--base", type=Path, required=True, help="folder of an MPNet, or a model set")
    fit = steps.add_parser("fit", help="put the files into a model set and fit what is fitted after training")
    for name in ("data", "corpus", "models"):
        fit.add_argument(f"--{name}", type=Path, required=True)
    fit.add_argument("--name", required=True, help="the set's new name")
    for step in (train, export, fit):
        step.add_argument("--folder", type=Path, required=True)
    for step in (prepare, train, export):
        step.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()

    from medassay.training.reader import recipe

    if arguments.step == "prepare":
        recipe.prepare(arguments.data, arguments.corpus, arguments.base, arguments.out, arguments.levels)
    elif arguments.step == "train":
        recipe.train(
            arguments.folder,
            arguments.out,
            round=arguments.round,
            passes=arguments.passes,
            seconds=arguments.seconds,
        )
    elif arguments.step == "export":
        recipe.export(arguments.folder, arguments.base, arguments.out)
    else:
        from medassay.training.reader import fit as fitting

        fitting.install(arguments.folder, arguments.models, arguments.name)
        for name, value in fitting.fit(arguments.folder, arguments.data, arguments.corpus, arguments.models).items():
            print(f"{name}: {value:.3f}")


if __name__ == "__main__":
    main()
