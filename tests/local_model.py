"""A small language model behind an OpenAI-compatible address, for as long as standard input stays open.

python tests/local_model.py MODEL.gguf
"""

import sys

import xllamacpp

WINDOW = 4096


def main() -> None:
    """Serve, and print the address."""
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.n_ctx = WINDOW
    params.n_parallel = 1
    # Two threads wait for each other where the machine has other work.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    # What is left of an earlier prompt changes answers a little.
    params.cache_prompt = False
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
