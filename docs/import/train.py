"""Gradient descent on separable points, with a logger of its own.

This stands for somebody else's training script: it knows nothing of reproaudit, calls its settings
and its metrics by its own names, and leaves a folder with `args.json` and `metrics.csv` behind.

    python train.py --seed 3 --loss logistic --out logs/logistic-seed_3
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np


def main() -> None:
    """Trains once, and logs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--loss", choices=("logistic", "squared"), default="logistic")
    parser.add_argument("--weights", choices=("trained", "constructed"), default="trained")
    parser.add_argument("--lr-factor", type=float, default=1.0)
    parser.add_argument("--max-steps", type=int, default=20_000)
    parser.add_argument("--log-every", type=int, default=250)
    parser.add_argument("--extra-points", type=int, default=12)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()

    rng = np.random.default_rng(args.seed)
    support = np.array([[0.5, 1.5], [1.5, 0.5]])
    others = rng.uniform([1.5, 0.75], [5.0, 2.0], size=(args.extra_points, 2))
    points = np.concatenate([support, support, others])  # each times its label
    lr = args.lr_factor / np.linalg.norm(points, ord=2) ** 2

    args.out.mkdir(parents=True)
    config = {name: str(v) if isinstance(v, Path) else v for name, v in vars(args).items()}
    (args.out / "args.json").write_text(json.dumps(config, indent=2))
    w = np.zeros(2)
    with (args.out / "metrics.csv").open("w", newline="") as file:
        log = csv.writer(file)
        log.writerow(["step", "train/loss", "w/x", "w/y"])
        for step in range(args.max_steps + 1):
            margins = points @ w
            if step % args.log_every == 0:
                loss = (
                    np.logaddexp(0, -margins) if args.loss == "logistic" else (1 - margins) ** 2 / 2
                )
                log.writerow([step, loss.sum(), w[0], w[1]])
            slope = 1 / (1 + np.exp(margins)) if args.loss == "logistic" else 1 - margins
            w = w + lr * slope @ points
            if args.weights == "constructed":  # the theorem's leading term in place of training
                w = np.array([0.5, 0.5]) * np.log(2 + step)


if __name__ == "__main__":
    main()
