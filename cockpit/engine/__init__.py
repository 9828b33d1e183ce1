"""The asyncio shell around the core: store, loop, launch, follow."""
