"""A detour to a node on which every byte takes longer, for kernels without netem."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_CHUNK_BYTES = 65536
_CHUNKS_UNDER_WAY = 1024


@asynccontextmanager
async def delayed(address: str, port: int = 22, *, delay_s: float) -> AsyncIterator[int]:
    """A port on 127.0.0.1 that leads to `address`, `delay_s` later in each direction."""
    open_detours: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        detour = asyncio.create_task(_join(reader, writer, address, port, delay_s))
        open_detours.add(detour)
        detour.add_done_callback(open_detours.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for detour in open_detours:
            detour.cancel()
        await asyncio.gather(*open_detours, return_exceptions=True)


async def _join(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    address: str,
    port: int,
    delay_s: float,
) -> None:
    far_reader, far_writer = await asyncio.open_connection(address, port)
    try:
        async with asyncio.TaskGroup() as ways:
            ways.create_task(_carry(reader, far_writer, delay_s))
            ways.create_task(_carry(far_reader, writer, delay_s))
    finally:
        writer.close()
        far_writer.close()


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float
) -> None:
    clock = asyncio.get_running_loop().time
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_CHUNKS_UNDER_WAY)

    async def depart() -> None:
        while chunk := await reader.read(_CHUNK_BYTES):
            await under_way.put((clock() + delay_s, chunk))
        await under_way.put((clock() + delay_s, b""))

    async with asyncio.TaskGroup() as both:
        both.create_task(depart())
        while True:
            due, chunk = await under_way.get()
            await asyncio.sleep(due - clock())
            if not chunk:
                break
            writer.write(chunk)
            await writer.drain()
    if not writer.is_closing():
        writer.write_eof()
