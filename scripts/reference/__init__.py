"""Files generated from the code: the reference pages and the asyncio client."""
