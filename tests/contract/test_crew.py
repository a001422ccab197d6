"""Steps that may be done at the same time, by the thread that has them and one that would only wait."""

import threading

import pytest

from eqty_lineage.deepagents.recording.crew import Crew


class Helper:
    """A thread that waits for a crew's work to be over."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._over = False
        self.result: bool | None = None
        self._thread = threading.Thread(target=self._work, name="helper", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        self.result = self._crew.help_until(lambda: self._over, None)

    def dismiss(self) -> None:
        self._over = True
        self._crew.wake()
        self._thread.join(30)
        assert not self._thread.is_alive()


def test_every_step_is_done_once_and_no_error_is_none():
    done: list[int] = []
    errors = Crew().run([lambda number=number: done.append(number) for number in range(20)])
    assert sorted(done) == list(range(20))
    assert errors == [None] * 20


def test_nothing_to_do_is_done():
    assert Crew().run([]) == []


def test_each_error_stands_where_its_step_stood_and_the_rest_is_done():
    done: list[int] = []

    def fail() -> None:
        raise OSError

    def panic() -> None:
        raise BaseExceptionGroup("panic", [BaseException()])

    errors = Crew().run([lambda: done.append(0), fail, lambda: done.append(2), panic])
    assert done == [0, 2]
    assert [type(error) for error in errors] == [type(None), OSError, type(None), BaseExceptionGroup]


def test_errors_are_not_carried_over():
    crew = Crew()

    def fail() -> None:
        raise OSError

    crew.run([fail])
    assert crew.run([lambda: None, lambda: None]) == [None, None]


def test_a_waiting_thread_helps():
    crew = Crew()
    helper = Helper(crew)
    meeting = threading.Barrier(2)
    # each step waits for the other: one thread alone would never get through
    errors = crew.run([lambda: meeting.wait(30) and None, lambda: meeting.wait(30) and None])
    assert errors == [None, None]
    helper.dismiss()
    assert helper.result is True


def test_at_most_one_waiting_thread_helps():
    crew = Crew()
    helpers = [Helper(crew) for _ in range(3)]
    both, names = threading.Barrier(2), set()

    def step() -> None:
        names.add(threading.current_thread())
        both.wait(30)

    for _ in range(5):
        assert crew.run([step, step]) == [None, None]
    for helper in helpers:
        helper.dismiss()
    assert len(names) == 2


def test_when_the_helper_leaves_another_waiting_thread_takes_its_place():
    crew = Crew()
    first, second = Helper(crew), Helper(crew)
    first.dismiss()
    meeting = threading.Barrier(2)
    assert crew.run([lambda: meeting.wait(30) and None, lambda: meeting.wait(30) and None]) == [None, None]
    second.dismiss()


def test_an_error_in_a_helpers_step_is_told_to_the_one_who_has_the_work():
    crew = Crew()
    helper = Helper(crew)
    meeting = threading.Barrier(2)

    def step() -> None:
        meeting.wait(30)
        if threading.current_thread().name == "helper":
            raise OSError

    errors = crew.run([step, step])
    assert sorted(type(error).__name__ for error in errors) == ["NoneType", "OSError"]
    helper.dismiss()
    assert helper.result is True


@pytest.mark.parametrize("timeout", [0, 0.01])
def test_waiting_ends_with_its_time(timeout: float):
    assert Crew().help_until(lambda: False, timeout) is False


def test_what_is_over_already_needs_no_wait():
    assert Crew().help_until(lambda: True, 0) is True
    assert Crew().help_until(lambda: True, None) is True


def test_an_interrupt_reaches_the_waiting_thread_that_was_helping_and_the_one_who_has_the_work():
    crew = Crew()
    meeting = threading.Barrier(2)
    seen: list[str] = []

    def help_() -> None:
        try:
            crew.help_until(lambda: False, 30)
        except KeyboardInterrupt:
            seen.append("interrupted")

    helper = threading.Thread(target=help_, name="helper", daemon=True)
    helper.start()

    def step() -> None:
        meeting.wait(30)
        if threading.current_thread() is helper:
            raise KeyboardInterrupt

    errors = crew.run([step, step])
    helper.join(30)
    assert seen == ["interrupted"]
    assert sorted(type(error).__name__ for error in errors) == ["KeyboardInterrupt", "NoneType"]


def test_an_interrupt_of_the_one_who_has_the_work_is_passed_on_once_all_is_done():
    crew, done = Crew(), []

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crew.run([lambda: done.append(0), interrupt, lambda: done.append(2)])
    assert done == [0, 2]
    assert crew.run([lambda: done.append(3)]) == [None]


def test_who_stays_idle_waits_for_no_step():
    crew = Crew()
    release, seen = threading.Event(), set()

    def step() -> None:
        seen.add(threading.current_thread())
        release.wait(30)

    owner = threading.Thread(target=crew.run, args=([step, step],), daemon=True)
    owner.start()
    assert crew.help_until(lambda: False, 0.1, idle=True) is False
    release.set()
    owner.join(30)
    assert seen == {owner}
