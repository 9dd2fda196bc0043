"""A test bench, from an old campaign to a model and its picture: python examples/bench.py"""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import alx

folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(0)
(folder / "campaign.csv").write_text(
    """torque [Nm];speed [rpm];nox [ppm];date
20,5;1000;221,3;3 May
280;1200;853,8;3 May
150;3400;470,1;3 May
60;5600;437,7;4 May
255,5;5200;881,4;4 May
40;2800;288,9;4 May
210;2300;619,6;5 May
120;1500;464,2;5 May
"""
)


def measure(x: np.ndarray) -> float:
    """NOx at a torque and a speed, on a bench that loses one measurement in ten."""
    if rng.random() < 0.1:
        raise RuntimeError("no signal from the analyser")
    torque, speed = x
    return 150 + 2 * torque + 120 * np.sin(speed / 700) * torque / 300 + speed / 40 + rng.normal(0, 5)


learner = alx.Learner(
    inputs=[alx.Real("torque", 0, 300, unit="Nm"), alx.Real("speed", 800, 6000, unit="rpm")],
    outputs=[alx.Output("nox", unit="ppm")],
    budget=20,
)
learner.from_csv(folder / "campaign.csv")
with ThreadPoolExecutor(2) as benches:  # twelve more points, on two benches at once
    learner.run(
        measure, until=alx.Points(20) | alx.Error(5), executor=benches, save=folder / "bench.alx", retries=1
    )

mean, sd = learner.predict([150, 3000])
error = learner.error()
print(f"NOx at 150 Nm and 3000 rpm: {mean:.0f} ppm, give or take {sd:.0f}")
print(f"error of the model over the whole range: {error.rmse:.0f} ppm, {error.low:.0f} to {error.high:.0f}")
print("lengthscales (Nm, rpm) of the likeliest kernel:", learner.model.lengthscale[0].round())
learner.to_csv(folder / "all.csv")
learner.plot().savefig(folder / "nox.png")
print(f"points, model and picture are in {folder}")
