"""PPO in one file, as CleanRL writes it, on `hb.make_vec`; an episode's end by the horizon is bootstrapped."""

import numpy as np
import torch
from torch import nn

import hushbandits as hb

torch.manual_seed(1)
env = hb.make_vec("CoopNetwork-v0", 8, n_agents=4, means=(0.9, 0.3), horizon=40)
net = nn.Sequential(
    nn.Linear(env.single_observation_space.shape[0], 64), nn.Tanh(), nn.Linear(64, 1 + 2)
)  # value, arms
adam, curve, (seen, _) = torch.optim.Adam(net.parameters(), 3e-3), [], env.reset(seed=1)
for _ in range(25):
    steps, gain, gains = [], torch.zeros(env.num_envs), []
    for _ in range(40):
        now = torch.as_tensor(seen)
        with torch.no_grad():
            choice = torch.distributions.Categorical(logits=net(now)[:, 1:])
            action = choice.sample()
            seen, reward, terminated, truncated, info = env.step(action.numpy())
            after = torch.as_tensor(np.stack(info["final_obs"]) if truncated.any() else seen)  # all runs end together
            value, ahead = net(now)[:, 0], net(after)[:, 0] * ~torch.as_tensor(terminated)
            delta = torch.as_tensor(reward, dtype=torch.float32) + 0.9 * ahead - value
        steps.append((now, action, choice.log_prob(action), value, delta, torch.as_tensor(terminated | truncated)))
        curve.append(reward.mean())
    for *_, delta, done in reversed(steps):
        gains.insert(0, gain := delta + 0.9 * 0.9 * gain * ~done)
    now, action, before, value, gain = *map(torch.stack, list(zip(*steps, strict=True))[:4]), torch.stack(gains)
    for _ in range(8):
        new = net(now)
        ratio = (torch.distributions.Categorical(logits=new[..., 1:]).log_prob(action) - before).exp()
        scaled = (gain - gain.mean()) / gain.std()
        policy = torch.min(ratio * scaled, ratio.clamp(0.8, 1.2) * scaled).mean()
        loss = 0.5 * (new[..., 0] - value - gain).pow(2).mean() - policy
        adam.zero_grad()
        loss.backward()
        adam.step()
print(np.reshape(curve, (25, 40)).mean(1))
