"""The API model: every function of the ABI, with what each parameter means. ``MODEL`` is the table."""

from cannery.runtime.api.model import MODEL, Function, Model, Param
from cannery.runtime.api.products import PRODUCTS
from cannery.runtime.api.roles import IN, INOUT, OUT, Role, RoleError, RoleVisitor

__all__ = ["IN", "INOUT", "MODEL", "OUT", "PRODUCTS", "Function", "Model", "Param", "Role", "RoleError", "RoleVisitor"]
