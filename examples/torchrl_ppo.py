"""PPO with TorchRL's own loss, one policy for all agents: ``pip install 'hushbandits[torchrl]'``, then run it."""

import torch
from tensordict.nn import TensorDictModule
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss, ValueEstimators

import hushbandits as hb

GROUP = "agents"
TASKS = {
    "DPMASE-v0": {"n_agents": 4, "n_arms": 3, "means": hb.UniformMeans(), "delta": 0.5, "horizon": 50},
    "CoopNetwork-v0": {"n_agents": 4, "n_arms": 2, "means": (0.9, 0.1), "horizon": 32},
    "DistDP-v0": {"n_agents": 4, "n_arms": 3, "horizon": 64},
}


def loss_of(env, gamma=0.9):
    width, choices = env.observation_spec[GROUP, "observation"].shape[-1], env.action_spec[GROUP, "action"].n
    actor = ProbabilisticActor(
        TensorDictModule(MLP(width, choices, num_cells=[64]), [(GROUP, "observation")], [(GROUP, "logits")]),
        in_keys={"logits": (GROUP, "logits"), "mask": (GROUP, "action_mask")},
        out_keys=[(GROUP, "action")],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=(GROUP, "log_prob"),
    )
    critic = ValueOperator(MLP(width, 1, num_cells=[64]), in_keys=[(GROUP, "observation")], out_keys=[(GROUP, "value")])
    loss = ClipPPOLoss(
        actor, critic, entropy_coeff=0.01, normalize_advantage=True, normalize_advantage_exclude_dims=[-1]
    )
    names = dict.fromkeys(("reward", "action", "value", "done", "terminated"))
    loss.set_keys(sample_log_prob=(GROUP, "log_prob"), **{name: (GROUP, name) for name in names})
    loss.make_value_estimator(ValueEstimators.GAE, gamma=gamma, lmbda=0.9)
    return actor, loss


def train(env_id, batches=20, num_envs=8, **kwargs):
    """Return the mean reward of each batch."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the nets are small
    env = hb.make_torchrl(env_id, num_envs, **(TASKS[env_id] | kwargs))
    env.set_seed(0)
    actor, loss = loss_of(env)
    optimizer, curve = torch.optim.Adam(loss.parameters(), 3e-3), []
    for _ in range(batches):
        with torch.no_grad():
            batch = env.rollout(32, actor, break_when_any_done=False)
            for name in ("done", "terminated"):  # all agents share an episode
                batch["next", GROUP, name] = batch["next", name].unsqueeze(-2).expand_as(batch["next", GROUP, "reward"])
            loss.value_estimator(
                batch, params=loss.critic_network_params, target_params=loss.target_critic_network_params
            )
        for _ in range(8):
            losses = loss(batch)
            optimizer.zero_grad()
            sum(value for name, value in losses.items() if name.startswith("loss_")).backward()
            optimizer.step()
        curve.append(batch["next", GROUP, "reward"].mean().item())
    return curve


if __name__ == "__main__":
    for env_id in TASKS:
        print(env_id, " ".join(f"{reward:.2f}" for reward in train(env_id)))
