"""Rounds inside a compiled `jax.lax.scan`: `io_callback` plays each of them on the host."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

import hushbandits as hb

env = hb.make_vec("CoopNetwork-v0", 64, n_agents=4, means=(0.9, 0.3), horizon=100)
seen, _ = env.reset(seed=0)
shapes = jax.ShapeDtypeStruct(seen.shape, seen.dtype), jax.ShapeDtypeStruct(seen.shape[:1], jnp.float32)
best = env.layout["own_mean"]


def play(actions):
    seen, reward, *_ = env.step(np.asarray(actions))
    return seen, reward.astype(np.float32)


def step(carry, _):
    seen, key = carry
    key, draw = jax.random.split(key)
    actions = jax.random.categorical(draw, 8 * seen[:, best])  # the policy: a softmax of own means
    seen, reward = io_callback(play, shapes, actions, ordered=True)
    return (seen, key), reward.mean()


rollout = jax.jit(lambda seen, key: jax.lax.scan(step, (seen, key), length=100))
(seen, key), rewards = rollout(seen, jax.random.key(0))
print(rewards[:10].mean(), rewards[-10:].mean())
