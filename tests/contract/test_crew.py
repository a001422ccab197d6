"""Steps that may be done at the same time, by the thread that has them and those that help it."""

import threading
from collections.abc import Callable

import pytest

from eqty_lineage.deepagents.recording.crew import Crew


class Helper:
    """A thread that helps a crew."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._over = False
        self._thread = threading.Thread(target=crew.help_until, args=(lambda: self._over,), name="helper", daemon=True)
        self._thread.start()

    def dismiss(self) -> None:
        self._over = True
        self._crew.wake()
        self._thread.join(30)
        assert not self._thread.is_alive()


def run(crew: Crew, steps: list[Callable[[], object]]) -> list[BaseException | None]:
    for step in steps:
        crew.post(step)  # type: ignore[arg-type]
    return crew.join()


def test_every_step_is_done_once_and_no_error_is_none():
    done: list[int] = []
    errors = run(Crew(), [lambda number=number: done.append(number) for number in range(20)])
    assert sorted(done) == list(range(20))
    assert errors == [None] * 20


def test_nothing_to_do_is_done():
    assert Crew().join() == []


def test_each_error_stands_where_its_step_stood_and_the_rest_is_done():
    done: list[int] = []

    def fail() -> None:
        raise OSError

    def panic() -> None:
        raise BaseExceptionGroup("panic", [BaseException()])

    errors = run(Crew(), [lambda: done.append(0), fail, lambda: done.append(2), panic])
    assert done == [0, 2]
    assert [type(error) for error in errors] == [type(None), OSError, type(None), BaseExceptionGroup]


def test_errors_are_not_carried_over():
    crew = Crew()

    def fail() -> None:
        raise OSError

    run(crew, [fail])
    assert run(crew, [lambda: None, lambda: None]) == [None, None]


def test_helpers_do_what_is_posted_before_anybody_joins():
    crew = Crew()
    helper = Helper(crew)
    done = threading.Event()
    crew.post(done.set)
    assert done.wait(30)
    assert crew.join() == [None]
    helper.dismiss()


def test_as_many_steps_are_done_at_once_as_there_are_threads():
    crew = Crew()
    helpers = [Helper(crew), Helper(crew)]
    meeting = threading.Barrier(3)
    # each step waits for the others: two threads would never get through
    assert run(crew, [lambda: meeting.wait(30) and None] * 3) == [None] * 3
    for helper in helpers:
        helper.dismiss()


def test_an_error_in_a_helpers_step_is_told_to_the_one_who_has_the_work():
    crew = Crew()
    helper = Helper(crew)
    meeting = threading.Barrier(2)

    def step() -> None:
        meeting.wait(30)
        if threading.current_thread().name == "helper":
            raise OSError

    errors = run(crew, [step, step])
    assert sorted(type(error).__name__ for error in errors) == ["NoneType", "OSError"]
    helper.dismiss()


def test_who_is_dismissed_leaves_what_is_posted():
    crew = Crew()
    Helper(crew).dismiss()
    names: list[str] = []
    run(crew, [lambda: names.append(threading.current_thread().name)])
    assert names == [threading.current_thread().name]


@pytest.mark.parametrize("timeout", [0, 0.01])
def test_waiting_ends_with_its_time(timeout: float):
    assert Crew().wait_until(lambda: False, timeout) is False


def test_what_is_over_already_needs_no_wait():
    assert Crew().wait_until(lambda: True, 0) is True
    assert Crew().wait_until(lambda: True) is True


def test_an_interrupt_of_the_one_who_has_the_work_is_passed_on_once_all_is_done():
    crew, done = Crew(), []

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(crew, [lambda: done.append(0), interrupt, lambda: done.append(2)])
    assert done == [0, 2]
    assert run(crew, [lambda: done.append(3)]) == [None]
