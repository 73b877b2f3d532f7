"""Bodies that come at the same time share the room, and all of them get through."""

import asyncio

from holter.server.process.byte_budget import ByteBudget


def test_bodies_that_fill_the_room_in_parts_become_whole_one_after_the_other() -> None:
    async def send(room: ByteBudget, who: str, done: list[str]) -> None:
        async with room.holding(who) as take:
            for _ in range(6):
                await take(10)
                await asyncio.sleep(0)
            done.append(who)

    async def send_all() -> list[str]:
        room, done = ByteBudget(100), list[str]()
        await asyncio.gather(*(send(room, who, done) for who in ("ann", "bob", "ann", "cid", "ann")))
        assert room.held_bytes == 0
        return done

    assert sorted(asyncio.run(asyncio.wait_for(send_all(), 30))) == ["ann", "ann", "ann", "bob", "cid"]


def test_what_goes_beyond_the_room_is_one_body() -> None:
    async def fill() -> int:
        room, most = ByteBudget(100), 0
        gates = [asyncio.Event() for _ in range(4)]

        async def send(who: int) -> None:
            nonlocal most
            async with room.holding(str(who)) as take:
                for _ in range(8):
                    await take(10)
                    most = max(most, room.held_bytes)
                    await asyncio.sleep(0)
                gates[who].set()

        await asyncio.gather(*map(send, range(4)))
        assert all(gate.is_set() for gate in gates)
        return most

    assert asyncio.run(asyncio.wait_for(fill(), 30)) <= 180
