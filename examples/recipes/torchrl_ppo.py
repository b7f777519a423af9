"""PPO with TorchRL's own loss: the agents are one group, and share one actor and one critic."""

import torch
from tensordict.nn import TensorDictModule
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss, ValueEstimators

import hushbandits as hb

torch.manual_seed(0)
env = hb.make_torchrl("CoopNetwork-v0", runs=8, n_agents=4, means=(0.9, 0.1), horizon=32)
env.set_seed(0)
seen, reward = ("agents", "observation"), ("next", "agents", "reward")
actor = ProbabilisticActor(
    TensorDictModule(MLP(out_features=2, num_cells=[64]), [seen], [("agents", "logits")]),
    in_keys={"logits": ("agents", "logits"), "mask": ("agents", "action_mask")},
    out_keys=[("agents", "action")],
    distribution_class=MaskedCategorical,
    return_log_prob=True,
    log_prob_key=("agents", "log_prob"),
)
critic = ValueOperator(MLP(out_features=1, num_cells=[64]), in_keys=[seen], out_keys=[("agents", "value")])
actor(critic(env.reset()))  # sizes the nets
loss = ClipPPOLoss(actor, critic, normalize_advantage=True, normalize_advantage_exclude_dims=[-1])
names = ("reward", "action", "value", "done", "terminated")
loss.set_keys(sample_log_prob=("agents", "log_prob"), **{name: ("agents", name) for name in names})
loss.make_value_estimator(ValueEstimators.GAE, gamma=0.9, lmbda=0.9)
optimizer, curve = torch.optim.Adam(loss.parameters(), 3e-3), []
for _ in range(15):
    with torch.no_grad():
        batch = env.rollout(32, actor, break_when_any_done=False)
        for name in ("done", "terminated"):  # a run's agents end together
            batch["next", "agents", name] = batch["next", name].unsqueeze(-2).expand_as(batch[reward])
        loss.value_estimator(batch, params=loss.critic_network_params, target_params=loss.target_critic_network_params)
    for _ in range(8):
        losses = loss(batch)
        optimizer.zero_grad()
        sum(value for name, value in losses.items() if name.startswith("loss_")).backward()
        optimizer.step()
    curve.append(batch[reward].mean().item())
print(curve)
