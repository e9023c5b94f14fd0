"""A task's keeper on a node of Slurm's."""

from __future__ import annotations

import os

from danlu.engines.local.keeper import keeper, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NOTHING_FOUND = 125


class NodeKeeper(keeper.Keeper):
    """A keeper that Slurm may ask to end, too: at its time limit, for scancel, before a reboot."""

    _asked = False
    code = NOTHING_FOUND

    def keep(self, otherwise: int) -> int:
        """Runs the task to its end; returns its exit code, or this if another has claimed it."""
        if not self.claim():
            return otherwise
        self._begun.tasks += 1
        try:
            self.run()
        except Exception as error:  # otherwise the task would look killed
            self.fail(f"its keeper failed: {error!r}")
        return self.code

    def run(self) -> None:
        missing = [mount["source"] for mount in self._task["mounts"]
                   if not os.path.isdir(mount["source"])]  # fmt: skip
        if missing:
            detail = f"{', '.join(missing)} does not exist on {self._task['node']}"
            self._logs[0].note(f"{detail}. {self._task['node']} 上没有 {', '.join(missing)}")
            self._write_status({"code": 125, "hint": "volume_missing", "detail": detail})
            return
        super().run()

    def _link_volumes(self) -> None:
        if not os.path.isdir(f"{self._folder}/{self._task['index']}.volumes"):
            super()._link_volumes()

    def _follow_order(self) -> None:
        order = record.read(self._record, record.ORDER)
        if order is not None:
            self._ask_to_end(float(order["grace"]))
        elif self._asked:  # not by us, or we are all that is left of the task
            self._ask_to_end(0.0 if os.getppid() == 1 else float(self._task["kill_wait"]))
        self._asked = True

    def _write_status(self, status: dict[str, Any]) -> None:
        self.code = 128 + status["signal"] if status.get("signal") else int(status.get("code", 0))
        super()._write_status(status)
