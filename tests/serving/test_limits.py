"""The count of bytes that the server holds."""

from __future__ import annotations

from medassay.serving.limits import Lease, MemoryBudget


def test_requests_share_the_budget_and_give_their_part_back() -> None:
    budget = MemoryBudget(100)
    first, second = Lease(budget), Lease(budget)
    first.resize(60)
    assert second.fits(40) and not second.fits(41)
    second.resize(40)
    first.resize(10)
    assert budget.bytes == 50 and second.fits(90)
    first.resize(0)
    second.resize(0)
    assert budget.bytes == 0


def test_a_request_that_is_alone_may_exceed_the_budget() -> None:
    assert Lease(MemoryBudget(10)).fits(1000)
