"""What was replaced comes back, unless somebody replaced it again."""

from types import SimpleNamespace

from holter.client.capture.patches import Patches


def test_a_replaced_attribute_comes_back() -> None:
    owner, patches = SimpleNamespace(hook="theirs"), Patches()
    patches.set(owner, "hook", "ours")
    assert (owner.hook, patches.has(owner, "hook")) == ("ours", True)
    patches.restore()
    patches.restore()
    assert (owner.hook, patches.has(owner, "hook")) == ("theirs", False)


def test_an_added_attribute_goes_away() -> None:
    class Base:
        hook = "inherited"

    class Derived(Base):
        pass

    patches = Patches()
    patches.set(Derived, "hook", "ours")
    assert Derived.hook == "ours"
    patches.restore()
    assert "hook" not in vars(Derived)
    assert Derived.hook == "inherited"


def test_what_somebody_put_on_top_stays() -> None:
    owner, patches = SimpleNamespace(hook="theirs"), Patches()
    patches.set(owner, "hook", "ours")
    owner.hook = "on top"
    patches.restore()
    assert owner.hook == "on top"


def test_an_attribute_is_replaced_once() -> None:
    owner, patches = SimpleNamespace(hook="theirs"), Patches()
    patches.set(owner, "hook", "first")
    patches.set(owner, "hook", "second")
    assert owner.hook == "first"
    patches.restore()
    assert owner.hook == "theirs"
