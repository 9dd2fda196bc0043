"""Settings of JAX for all tests in this process.

Four devices on the host, so that work can be shared between one, two and four of them; and little
optimisation, as nearly all the time of a test is compilation.
"""

import jax

jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_disable_most_optimizations", True)
