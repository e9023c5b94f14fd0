"""Files that are made from the code: the reference pages, and the asyncio half of the client."""
