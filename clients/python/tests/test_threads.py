"""Stored conversations with both clients, against a sidecar with the simulator behind it."""

from __future__ import annotations

import unittest
from typing import Any

from outrigger_client import (
    AsyncClient,
    CallInfo,
    Client,
    InvalidRequestError,
    NotFoundError,
    RunStatus,
    assistant_message,
    text_of,
    user_message,
)

HEADERS = {"x-request-id": "mine-1"}
MESSAGES = [user_message("One"), assistant_message("Two")]


class ThreadsTest(unittest.TestCase):
    """Calls of the synchronous client."""

    def test_a_thread_is_created_read_relabelled_and_deleted(self) -> None:
        calls: list[CallInfo] = []
        with Client() as client:
            threads = client.with_options(headers=HEADERS, on_call=calls.append).threads
            created = threads.create(labels={"user": "ada", "topic": "boats"})
            updated = threads.update(created.id, labels={"topic": "canoes"})
            self.assertEqual(dict(updated.metadata), {"topic": "canoes"})
            self.assertEqual(threads.get(created.id), updated)
            threads.delete(created.id)
            for call in (
                lambda: threads.get(created.id),
                lambda: list(threads.list_messages(created.id)),
                lambda: client.runs.create(model="sim-text", prompt="Hi", thread_id=created.id),
            ):
                with self.assertRaises(NotFoundError):
                    call()
        self.assertEqual({call.request_id for call in calls}, {"mine-1"})
        self.assertEqual([call.method for call in calls][:2], ["CreateThread", "UpdateThread"])

    def test_messages_are_appended_listed_in_pages_and_deleted(self) -> None:
        with Client() as client:
            threads = client.threads
            thread_id = threads.create(messages=MESSAGES).id
            [added] = threads.append_messages(thread_id, [{"role": "user", "content": "Three"}])
            listed = [text_of(stored.message) for stored in threads.list_messages(thread_id, page_size=1)]
            self.assertEqual(listed, ["One", "Two", "Three"])
            newest = threads.list_messages(thread_id, page_size=2, newest_first=True)
            self.assertEqual([text_of(stored.message) for stored in newest], ["Three", "Two", "One"])
            self.assertEqual(threads.get_message(added.id), added)
            threads.delete_message(thread_id, added.id)
            with self.assertRaises(NotFoundError):
                threads.get_message(added.id)

    def test_a_run_reads_its_thread_and_appends_to_it(self) -> None:
        with Client() as client:
            thread = client.threads.create(messages=MESSAGES)
            run = client.runs.create(model="sim-text", prompt="And?", thread_id=thread.id)
            self.assertEqual((run.status, run.thread_id), (RunStatus.RUN_STATUS_COMPLETED, thread.id))
            stored = list(client.threads.list_messages(thread.id))
        facts = [(message.output, message.run_id) for message in stored]
        self.assertEqual(facts, [(False, ""), (False, ""), (False, run.id), (True, run.id)])
        self.assertEqual(stored[-1].message, run.steps[0].response.message)

    def test_an_error_names_what_is_no_message(self) -> None:
        wrong: Any = [user_message("Hi"), {"role": "user", "text": "Hi"}]
        with Client() as client:
            with self.assertRaisesRegex(TypeError, r"messages\[1\]: unexpected text"):
                client.threads.create(messages=wrong)
            thread = client.threads.create()
            with self.assertRaises(InvalidRequestError) as raised:
                client.threads.append_messages(thread.id, [])
        self.assertEqual([violation.field for violation in raised.exception.field_violations], ["messages"])


class AsyncThreadsTest(unittest.IsolatedAsyncioTestCase):
    """Calls of the asynchronous client."""

    async def test_a_thread_is_created_read_relabelled_and_deleted(self) -> None:
        calls: list[CallInfo] = []
        async with AsyncClient() as client:
            threads = client.with_options(headers=HEADERS, on_call=calls.append).threads
            created = await threads.create(labels={"user": "ada", "topic": "boats"})
            updated = await threads.update(created.id, labels={"topic": "canoes"})
            self.assertEqual(dict(updated.metadata), {"topic": "canoes"})
            self.assertEqual(await threads.get(created.id), updated)
            await threads.delete(created.id)
            with self.assertRaises(NotFoundError):
                await threads.get(created.id)
        self.assertEqual({call.request_id for call in calls}, {"mine-1"})

    async def test_messages_are_appended_listed_in_pages_and_deleted(self) -> None:
        async with AsyncClient() as client:
            threads = client.threads
            thread_id = (await threads.create(messages=MESSAGES)).id
            [added] = await threads.append_messages(thread_id, [{"role": "user", "content": "Three"}])
            listed = [stored async for stored in threads.list_messages(thread_id, page_size=1)]
            self.assertEqual([text_of(stored.message) for stored in listed], ["One", "Two", "Three"])
            newest = [stored async for stored in threads.list_messages(thread_id, newest_first=True)]
            self.assertEqual(newest, listed[::-1])
            self.assertEqual(await threads.get_message(added.id), added)
            await threads.delete_message(thread_id, added.id)
            with self.assertRaises(NotFoundError):
                await threads.get_message(added.id)

    async def test_a_run_appends_to_its_thread(self) -> None:
        async with AsyncClient() as client:
            thread = await client.threads.create(messages=MESSAGES)
            run = await client.runs.create(model="sim-text", prompt="And?", thread_id=thread.id)
            stored = [message async for message in client.threads.list_messages(thread.id)]
        self.assertEqual([message.run_id for message in stored], ["", "", run.id, run.id])
