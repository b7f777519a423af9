"""Play envs step by step, and compare the results."""

import numpy as np


def step(env, uniforms):
    rngs = [np.random.default_rng(seed) for seed in uniforms]
    env.pull(env.random_action(rngs, block=20))
    return env.communicate(env.random_message(rngs, rate=0.3))


def equal(one, r, two, s):
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name][r], two[name][s], err_msg=name)


def alone_step(alone, i, inbox):
    own = step(alone, [(9, i)]).inbox
    assert own.fields == inbox.fields
    for field in own.fields:
        batch, one_arm_per_step = inbox[field][1], own[field][0]
        width = (
            min(batch.shape[1], one_arm_per_step.shape[1]) if batch.ndim > 1 and alone.setting != "feedback" else None
        )
        np.testing.assert_array_equal(batch[:, :width], one_arm_per_step[:, :width], err_msg=field)
    return alone.metrics()
