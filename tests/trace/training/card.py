"""A device without hardware, ``card``: tensors keep their values in a tensor of the processor, and every operation on
them is carried out there. One that is given tensors of both kinds fails, as it would on a real card.

Registering a device cannot be undone, so this is imported in processes of their own.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as trees
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_KEY = "PrivateUse1"
_OWN = ("_copy_from", "_local_scalar_dense", "to", "_to_copy", "copy_")
_COMPOSED = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")


class CardTensor(Tensor):
    """Of a kind of its own, because torch makes parameters of plain tensors without asking."""

    __torch_function__ = torch._C._disabled_torch_function_impl


_held: dict[int, Tensor] = {}
"""Values by the storage that stands for them on the card, which copies of a handle share."""


def _on_card(values: Tensor) -> Tensor:
    made: Tensor = torch._C._acc.create_empty_tensor(values.shape, values.dtype)
    made.__class__ = CardTensor
    _held[made.untyped_storage()._cdata] = values
    return made


def _values_of(tensor: Tensor) -> Tensor:
    return _held[tensor.untyped_storage()._cdata] if tensor.device.type == "card" else tensor


def _run(operation: Any, *args: Any, **options: Any) -> Any:
    given: dict[int, Tensor] = {}

    def taken(value: Any) -> Any:
        if isinstance(value, torch.device):
            return torch.device("cpu")
        if not isinstance(value, Tensor):
            return value
        if value.device.type == "cpu" and value.dim():
            raise RuntimeError(f"{operation}: a tensor on the card and one that is not")
        values = _values_of(value)
        if operation is torch.ops.aten._fused_adamw_.default:
            values = values.contiguous()  # takes its tensors to lie alike, which torch sees to by their strides
        given[id(values)] = value
        return values

    def put(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return given[id(value)] if id(value) in given else _on_card(value)

    if operation is torch.ops.aten.view.default:
        operation = torch.reshape  # handles have no strides but their own, so torch asks for views that there are not
    args, options = trees.tree_map(taken, (args, options))
    return trees.tree_map(put, operation(*args, **options))


def _copy(source: Tensor, target: Tensor, non_blocking: bool = False) -> Tensor:
    _values_of(target).copy_(_values_of(source))
    return target


def _register() -> list[torch.library.Library]:
    _setup_privateuseone_for_python_backend("card")
    everything, aten = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    everything.fallback(_run, _KEY)
    for name in torch._C._dispatch_get_all_op_names():
        space, _, full = name.partition("::")
        base, _, overload = full.partition(".")
        # Composed of others, some make views of a tensor without asking, which would lose its values.
        is_composed = any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in _COMPOSED)
        if space == "aten" and base not in _OWN and is_composed:
            operation = getattr(getattr(torch.ops.aten, base), overload or "default")
            aten.impl(full, partial(_run, operation), _KEY)
    aten.impl("_copy_from", _copy, _KEY)
    aten.impl("_local_scalar_dense", lambda value: _values_of(value).item(), _KEY)
    return [everything, aten]


_KEPT = _register()  # registrations end with their library
CARD = torch.device("card")
