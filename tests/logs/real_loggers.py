"""Makes logs with the loggers themselves: `python real_loggers.py LOGGER FOLDER SEED`.

Each function trains or counts a little, logs by its library alone, and returns what it logged.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Points = list[tuple[int, float]]


def counted(seed: int, steps: int) -> Points:
    return [(step, 1.0 / (step + 1) + seed) for step in range(steps)]


def tensorboard(folder: Path, seed: int) -> dict[str, Points]:
    import numpy as np
    from torch.utils.tensorboard import SummaryWriter

    curve = counted(seed, 12_000)  # more than TensorBoard keeps of a series
    writer = SummaryWriter(str(folder / f"seed_{seed}"))
    for step, value in curve:
        writer.add_scalar("loss", value, step)
        if step % 1000 == 0:
            writer.add_scalar("new/style", value, step, new_style=True)
            writer.add_histogram("weights", np.full(5, value), step)
    writer.add_hparams({"seed": seed, "lr": 0.1}, {"final": curve[-1][1]})  # passed over
    writer.close()
    return {"loss": curve, "new/style": curve[::1000]}


def tensorboardx(folder: Path, seed: int) -> dict[str, Points]:
    from tensorboardX import SummaryWriter

    curve = counted(seed, 1500)
    writer = SummaryWriter(str(folder / f"seed_{seed}"))
    for step, value in curve:
        writer.add_scalar("loss", value, step)
    writer.close()
    return {"loss": curve}


def _mlflow(address: str, seed: int) -> dict[str, Points]:
    import mlflow

    curve = counted(seed, 60)
    mlflow.set_tracking_uri(address)
    mlflow.set_experiment("test")
    with mlflow.start_run(run_name=f"run {seed}"):
        mlflow.log_params({"seed": seed, "lr": 0.1})
        for step, value in curve:
            mlflow.log_metric("loss", value, step=step)
        mlflow.log_metric("train/last", curve[-1][1])
    return {"loss": curve, "train/last": [(0, curve[-1][1])]}


def mlflow_files(folder: Path, seed: int) -> dict[str, Points]:
    return _mlflow(folder.as_uri(), seed)


def mlflow_database(folder: Path, seed: int) -> dict[str, Points]:
    folder.mkdir(parents=True, exist_ok=True)
    return _mlflow(f"sqlite:///{folder}/mlflow.db", seed)


def lightning(folder: Path, seed: int) -> dict[str, Points]:
    import torch
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.loggers import CSVLogger

    curve: Points = []

    class Model(LightningModule):
        def __init__(self, seed: int, lr: float) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            loss = self.layer(batch).square().mean()
            self.log("loss", loss)
            curve.append((self.global_step, float(loss)))
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=self.hparams["lr"])

    torch.manual_seed(seed)
    trainer = Trainer(
        max_steps=20, logger=CSVLogger(str(folder), name=f"r{seed}"), log_every_n_steps=1,
        accelerator="cpu", enable_checkpointing=False, enable_progress_bar=False,
    )  # fmt: skip
    trainer.fit(Model(seed, 0.1), torch.utils.data.DataLoader(torch.ones(40, 1)))
    return {"loss": curve}


def transformers(folder: Path, seed: int) -> dict[str, Points]:
    import torch
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def forward(self, x: Any, labels: Any = None) -> Any:
            return {"loss": (self.layer(x) - labels).square().mean()}

    out = folder / f"run{seed}"
    arguments = TrainingArguments(
        output_dir=str(out), seed=seed, max_steps=20, logging_steps=2, report_to=[], use_cpu=True,
        learning_rate=0.1, save_steps=10, disable_tqdm=True,
    )  # fmt: skip
    data = [{"x": torch.ones(1), "labels": torch.zeros(1)} for _ in range(40)]
    trainer = Trainer(model=Model(), args=arguments, train_dataset=data)
    trainer.train()
    trainer.save_state()
    (out / "training_args.json").write_text(arguments.to_json_string())
    rows = [row for row in trainer.state.log_history if "loss" in row]
    return {"loss": [(row["step"], row["loss"]) for row in rows]}


if __name__ == "__main__":
    logger, where, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    logged = globals()[logger](where, seed)
    (where.parent / f"{logger}-{seed}.json").write_text(json.dumps(logged))
