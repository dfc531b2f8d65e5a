"""Datasets and their items, which channels carry (reference pages and implementation of the functions named)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_FEATURE_UNSUPPORTED, Refused, invalid, null, stale
from cannery.runtime.objects import Thread
from cannery.runtime.places import DEVICE, Allocation
from cannery.runtime.small_objects import SmallObject, find, keep

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

UNDEFINED: Final = -1  # ACL_TENSOR_DATA_UNDEFINED, ACL_DT_UNDEFINED
TENSOR: Final = 0  # ACL_TENSOR_DATA_TENSOR
MOST_DIMS: Final = 128


class DataItem(SmallObject):
    """``address`` and ``size`` of the data, which stays the program's; 0 where there is none."""

    __slots__ = ("address", "data_type", "dims", "size", "tensor_type")

    def __init__(self, tensor_type: int, dims: tuple[int, ...], data_type: int, address: int, size: int) -> None:
        super().__init__()
        self.tensor_type = tensor_type
        self.dims = dims
        self.data_type = data_type
        self.address = address
        self.size = size


class Dataset(SmallObject):
    """``items`` by handle. ``owns``: they are of a receive, and their data is in ``memory``."""

    __slots__ = ("items", "memory", "owns")

    def __init__(self) -> None:
        super().__init__()
        self.items: list[int] = []
        self.owns = False
        self.memory: Allocation | None = None


def dataset_named(machine: "Machine", handle: int) -> Dataset:
    if not handle:
        raise null("dataset")
    dataset = find(machine, Dataset, handle)
    if dataset is None:
        raise stale("dataset", handle)
    return dataset


def _item(machine: "Machine", handle: int) -> DataItem:
    if not handle:
        raise null("dataItem")
    item = find(machine, DataItem, handle)
    if item is None:
        raise stale("dataItem", handle)
    return item


def _item_or_none(machine: "Machine", thread: Thread, function: str, handle: int) -> DataItem | None:
    """The item that a getter asks for; None, and a message, if there is none."""
    try:
        return _item(machine, handle)
    except Refused as refused:
        machine.refuse(thread, function, refused)
        return None


def release_items(machine: "Machine", dataset: Dataset) -> None:
    """Let go of what a receive put into a dataset."""
    if dataset.owns:
        for handle in dataset.items:
            machine.small_objects.pop(handle, None)
        dataset.items = []
    if dataset.memory is not None and dataset.memory.live:
        machine.memory.unpin(dataset.memory)
    dataset.memory = None


# Items.


@call("acltdtCreateDataItem")
def create_data_item(
    machine: "Machine",
    thread: Thread,
    tensor_type: int,
    dims: tuple[int, ...] | None,
    count: int,
    data_type: int,
    address: int,
    size: int,
) -> int:
    """Null, and a message, if it cannot be made. What is no tensor has no data (reference implementation)."""
    try:
        _check_dims(dims, count)
        if tensor_type != TENSOR and dims is not None:
            raise invalid(
                "the argument dims is not null; only a tensor (tdtType ACL_TENSOR_DATA_TENSOR) has dimensions"
            )
    except Refused as refused:
        machine.refuse(thread, "acltdtCreateDataItem", refused)
        return 0
    if tensor_type != TENSOR:
        return keep(machine, DataItem(tensor_type, (), UNDEFINED, 0, 0))
    return keep(machine, DataItem(tensor_type, dims or (), data_type, address, size))


def _check_dims(dims: tuple[int, ...] | None, count: int) -> None:
    if dims is None and count:
        raise invalid("the argument dims is null, but dimNum is {}; pass 0 for it", count)
    if dims is not None and not count:
        raise invalid("the argument dimNum is 0, but dims is not null; pass null for it")
    if count > MOST_DIMS:
        raise invalid("the argument dimNum is {}; a tensor has {} dimensions at most", count, MOST_DIMS)


@call("acltdtDestroyDataItem")
def destroy_data_item(machine: "Machine", thread: Thread, handle: int) -> int:
    _item(machine, handle)
    del machine.small_objects[handle]
    return 0


@call("acltdtGetTensorTypeFromItem")
def get_tensor_type_from_item(machine: "Machine", thread: Thread, handle: int) -> int:
    item = _item_or_none(machine, thread, "acltdtGetTensorTypeFromItem", handle)
    return UNDEFINED if item is None else item.tensor_type


@call("acltdtGetDataTypeFromItem")
def get_data_type_from_item(machine: "Machine", thread: Thread, handle: int) -> int:
    item = _item_or_none(machine, thread, "acltdtGetDataTypeFromItem", handle)
    return UNDEFINED if item is None else item.data_type


@call("acltdtGetDataAddrFromItem")
def get_data_addr_from_item(machine: "Machine", thread: Thread, handle: int) -> int | None:
    item = _item_or_none(machine, thread, "acltdtGetDataAddrFromItem", handle)
    return None if item is None else item.address or None


@call("acltdtGetDataSizeFromItem")
def get_data_size_from_item(machine: "Machine", thread: Thread, handle: int) -> int:
    item = _item_or_none(machine, thread, "acltdtGetDataSizeFromItem", handle)
    return 0 if item is None else item.size


@call("acltdtGetDimNumFromItem")
def get_dim_num_from_item(machine: "Machine", thread: Thread, handle: int) -> int:
    item = _item_or_none(machine, thread, "acltdtGetDimNumFromItem", handle)
    return 0 if item is None else len(item.dims)


@call("acltdtGetDimsFromItem")
def get_dims_from_item(machine: "Machine", thread: Thread, handle: int, out: int, room: int) -> Any:
    item = _item(machine, handle)
    if not out and room:
        raise invalid("the argument dims is null, but dimNum is {}; pass 0 for it", room)
    if out and not room:
        raise invalid("the argument dimNum is 0, but dims is not null; pass null for it")
    if room < len(item.dims):
        raise invalid("the argument dimNum is {}, but the item has {} dimensions", room, len(item.dims))
    return 0, item.dims if out else None


@call("acltdtGetSliceInfoFromItem")
def get_slice_info_from_item(machine: "Machine", thread: Thread, handle: int, out_count: int, out_number: int) -> Any:
    """Items are in one piece: both are 0."""
    _item(machine, handle)
    if not out_count:
        raise null("sliceNum")
    if not out_number:
        raise null("sliceId")
    return 0, 0, 0


# Datasets.


@call("acltdtCreateDataset")
def create_dataset(machine: "Machine", thread: Thread) -> int:
    return keep(machine, Dataset())


@call("acltdtDestroyDataset")
def destroy_dataset(machine: "Machine", thread: Thread, handle: int) -> int:
    """Items of the program stay; those of a receive go."""
    dataset = dataset_named(machine, handle)
    release_items(machine, dataset)
    del machine.small_objects[handle]
    return 0


@call("acltdtAddDataItem")
def add_data_item(machine: "Machine", thread: Thread, handle: int, item_handle: int) -> int:
    dataset = dataset_named(machine, handle)
    item = _item(machine, item_handle)
    if dataset.owns:
        raise Refused(
            ACL_ERROR_FEATURE_UNSUPPORTED,
            "the argument dataset has items of a receive; put the item into a dataset of its own", remembered=False,
        )  # fmt: skip
    kinds = {_on_device(machine, other) for other in (*_items(machine, dataset), item) if other.address}
    if len(kinds) > 1:
        raise invalid("the data of all items in a dataset has to be in host memory, or all in device memory")
    dataset.items.append(item_handle)
    return 0


def _items(machine: "Machine", dataset: Dataset) -> list[DataItem]:
    """Those that still exist."""
    found = [find(machine, DataItem, handle) for handle in dataset.items]
    return [item for item in found if item is not None]


def _on_device(machine: "Machine", item: DataItem) -> bool:
    return machine.memory.place(item.address).kind is DEVICE


@call("acltdtGetDataItem")
def get_data_item(machine: "Machine", thread: Thread, handle: int, index: int) -> int:
    try:
        items = dataset_named(machine, handle).items
        if index >= len(items):
            raise invalid("the argument index is {}, but the dataset has {} items", index, len(items))
    except Refused as refused:
        machine.refuse(thread, "acltdtGetDataItem", refused)
        return 0
    return items[index]


@call("acltdtGetDatasetSize")
def get_dataset_size(machine: "Machine", thread: Thread, handle: int) -> int:
    dataset = _dataset_or_none(machine, thread, "acltdtGetDatasetSize", handle)
    return 0 if dataset is None else len(dataset.items)


@call("acltdtGetDatasetName")
def get_dataset_name(machine: "Machine", thread: Thread, handle: int) -> bytes | None:
    """Only a program on the device could give a dataset a name."""
    dataset = _dataset_or_none(machine, thread, "acltdtGetDatasetName", handle)
    return None if dataset is None else b""


def _dataset_or_none(machine: "Machine", thread: Thread, function: str, handle: int) -> Dataset | None:
    try:
        return dataset_named(machine, handle)
    except Refused as refused:
        machine.refuse(thread, function, refused)
        return None
