"""Values of the product profiles for which no public figure is known."""

from cannery.runtime.products import Profile, read
from cannery.tools.doctor.findings import NOTE, OK, Finding

INVENTED = "invented"


def invented(product: str) -> list[str]:
    """The names of a product's invented values."""
    return [key for key, values in read()["values"].items() if values[product][1] == INVENTED]


def check(profile: Profile) -> Finding:
    """Name the invented values of a product, with what they are."""
    items = tuple(f"{name} = {getattr(profile, name)}" for name in invented(profile.name))
    if not items:
        return Finding("profile", OK, f"every value of {profile.name} has a source")
    remedy = "do not rely on results that depend on them, such as times; --product chooses another product"
    return Finding("profile", NOTE, f"{profile.name}: {len(items)} values are invented, not sourced", remedy, items)
