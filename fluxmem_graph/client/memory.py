"""The façade: one object per namespace, wired from settings; no logic of its own."""

from fluxmem_graph.client.keeping import Keeping
from fluxmem_graph.client.moving import Moving
from fluxmem_graph.client.operating import Operating
from fluxmem_graph.client.policies import Policies
from fluxmem_graph.client.procedures import Procedures


class FluxMem(Policies, Procedures, Operating, Moving, Keeping):
    """The memory of one namespace.

    Use it as a context manager: `with FluxMem.connect(namespace="shop") as memory: ...`. It is safe to
    share between threads.
    """
