"""What a forward graph keeps for its backward."""

from functorch.compile import min_cut_rematerialization_partition
from torch.utils.checkpoint import CheckpointPolicy

from ._graph import is_view


def partition(joint, inputs, **options):
    """As inductor does it, but that no view is kept: those of one tensor would each become a copy of their part, and
    the next graph makes them of the tensor itself for nothing."""
    for node in joint.graph.nodes:
        node.meta.setdefault("ac_graph_id", 0)  # without it all that has a view would have to be kept
        if is_view(node):
            node.meta.setdefault("recompute", CheckpointPolicy.MUST_RECOMPUTE)
    return min_cut_rematerialization_partition(joint, inputs, **options)
