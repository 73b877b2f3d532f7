"""Answers many requests of one kind at once, in one thread: what each would wait for, all wait for together."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

MOST_AT_ONCE = 256
# Where several came at once, more are on their way: the next ones wait so long for each other.
GATHERS_S = 0.01

AnswerAll = Callable[[Sequence[Any]], Sequence[object]]


class Together:
    """Asked on one event loop; begins its thread with the first question.

    Args:
        answer_all: returns an answer for each question, in the same order; an exception among them is raised for the
            one who asked.
    """

    def __init__(self, answer_all: AnswerAll) -> None:
        self._answer_all = answer_all
        self._asked: SimpleQueue[tuple[Any, asyncio.Future[object]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def ask(self, question: object) -> object:
        """The answer, when there is one."""
        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, args=(loop,), name="holter-receiving", daemon=True)
            self._thread.start()
        future: asyncio.Future[object] = loop.create_future()
        self._asked.put((question, future))
        return await future

    def close(self) -> None:
        """What was asked before is answered; nothing may be asked after. Idempotent."""
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join()
        self._thread = None

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while (first := self._asked.get()) is not None:
            group = [first]
            is_last = False
            while len(group) < MOST_AT_ONCE and not is_last:
                try:
                    found = self._asked.get_nowait()
                except Empty:
                    break
                is_last = found is None
                group += [found] if found is not None else []
            answers = self._answered([question for question, _ in group])
            try:
                loop.call_soon_threadsafe(_hand_out, [future for _, future in group], answers)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return
            if is_last:
                return
            if len(group) > 1:
                time.sleep(GATHERS_S)

    def _answered(self, questions: list[Any]) -> Sequence[object]:
        try:
            return self._answer_all(questions)
        except Exception as error:  # noqa: BLE001  whoever waits gets it
            return [error] * len(questions)


def _hand_out(futures: list[asyncio.Future[object]], answers: Sequence[object]) -> None:
    for future, answer in zip(futures, answers, strict=True):
        if future.done():  # they did not wait
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)
