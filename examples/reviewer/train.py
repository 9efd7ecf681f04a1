"""Gradient descent on separable points, logged with MLflow, as an author's script might do it.

    python train.py --seed 0 --loss logistic

It knows nothing of reproaudit. `mlruns.zip` holds what six calls of it left behind: seeds 0, 1 and
2 with either loss.
"""

from __future__ import annotations

import argparse

import mlflow
import numpy as np

STEPS, LOG_EVERY = 20_000, 250


def main() -> None:
    """Trains once, and logs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--loss", choices=("logistic", "squared"), default="logistic")
    args = parser.parse_args()

    support = np.array([[0.5, 1.5], [1.5, 0.5]])
    others = np.random.default_rng(args.seed).uniform([1.5, 0.75], [5.0, 2.0], size=(12, 2))
    points = np.concatenate([support, support, others])  # each times its label
    lr = 1 / np.linalg.norm(points, ord=2) ** 2
    with mlflow.start_run(run_name=f"{args.loss}-{args.seed}"):
        mlflow.log_params({"seed": args.seed, "objective": args.loss, "iterations": STEPS,
                           "lr_scale": 1.0, "extra_points": len(others)})  # fmt: skip
        w = np.zeros(2)
        for step in range(STEPS + 1):
            margins = points @ w
            logistic = args.loss == "logistic"
            if step % LOG_EVERY == 0:
                loss = np.logaddexp(0, -margins) if logistic else (1 - margins) ** 2 / 2
                logged = {"train/loss": loss.sum(), "weight/x": w[0], "weight/y": w[1]}
                mlflow.log_metrics({name: float(v) for name, v in logged.items()}, step=step)
            slope = 1 / (1 + np.exp(margins)) if logistic else 1 - margins
            w = w + lr * slope @ points


if __name__ == "__main__":
    main()
