"""Threads of the server: they end early where they can, and never hold the process."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading

import pytest

from facereject.serve.pool import WorkPool


def test_results_and_errors_come_back():
    async def run():
        pool = WorkPool(2)
        assert await asyncio.gather(*(pool.run(divmod, k, 3) for k in range(20))) == [
            divmod(k, 3) for k in range(20)
        ]
        with pytest.raises(ZeroDivisionError):
            await pool.run(divmod, 1, 0)
        pool.close()

    asyncio.run(run())


def test_a_cancelled_call_is_stopped_and_waited_for():
    begun, stopped, ended = threading.Event(), threading.Event(), threading.Event()

    def work():
        begun.set()
        assert stopped.wait(30)
        ended.set()

    async def run():
        pool = WorkPool(1)
        calling = asyncio.create_task(pool.run(work, stop=stopped.set))
        waiting = asyncio.create_task(pool.run(begun.clear))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        waiting.cancel()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert ended.is_set()
        # what had not begun never does
        await pool.run(int)
        assert begun.is_set()

    asyncio.run(run())


def test_an_error_that_nobody_waits_for_is_not_printed(caplog):
    begun, stopped = threading.Event(), threading.Event()

    def work():
        begun.set()
        assert stopped.wait(30)
        raise ValueError("secret")

    async def run():
        pool = WorkPool(1)
        calling = asyncio.create_task(pool.run(work, stop=stopped.set))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        pool.close()

    asyncio.run(run())
    gc.collect()
    assert "secret" not in caplog.text


def test_a_thread_that_works_does_not_hold_the_process():
    script = (
        "import asyncio, time\n"
        "from facereject.serve.pool import WorkPool\n"
        "async def run():\n"
        "    pool = WorkPool(1)\n"
        "    task = asyncio.create_task(pool.run(time.sleep, 600))\n"
        "    await asyncio.sleep(0.2)\n"
        "    pool.close()\n"
        "asyncio.run(run())\n"
    )
    subprocess.run([sys.executable, "-c", script], timeout=60, check=True)
