"""The parts of the API: each module has the handlers of one kind of address."""
