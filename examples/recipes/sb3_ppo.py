"""PPO of Stable-Baselines3: every agent of every run is a sub-env, and all of them learn one policy."""

from stable_baselines3 import PPO

import hushbandits as hb

ENV = {"n_agents": 4, "means": (0.9, 0.3), "horizon": 40}
venv = hb.make_sb3("CoopNetwork-v0", runs=8, **ENV)
model = PPO("MlpPolicy", venv, n_steps=40, batch_size=320, n_epochs=5, learning_rate=3e-3, seed=1, device="cpu")
model.learn(8_000)
learned, random = (hb.evaluate("CoopNetwork-v0", agent, runs=20, env=ENV) for agent in (model, "Random"))
print(hb.compare(learned, random))
share = learned.final("regret").mean() / random.final("regret").mean()
