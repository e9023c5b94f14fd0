"""The demo's folder: its own, and never taken for that of a real platform."""

from __future__ import annotations

from pathlib import Path

from danlu.server.demo.cast import NODES, QUOTAS
from danlu.server.engines import EngineConfig
from danlu.server.settings import ConfigError, ServerConfig, default_data
from danlu.spec.text import Text

MARK = "demo.json"


def demo_folder() -> Path:
    usual = default_data()
    return usual.with_name(f"{usual.name}-demo")


def is_demo(data: Path) -> bool:
    return (data / MARK).exists()


def demo_config(data: Path) -> ServerConfig:
    """Independent of danlu.toml. Raises ConfigError if the folder holds something else."""
    if data.exists() and not is_demo(data) and any(data.iterdir()):
        raise ConfigError(
            Text(
                f"{data} is not the folder of a demo, so the demo does not touch it; choose an "
                "empty or new one with --data",
                f"{data} 不是演示用的目录，演示不会动它；请用 --data 指定空目录或新目录",
            )
        )
    return ServerConfig(
        data,
        engines=(EngineConfig(nodes=NODES),),
        circle_of_trust=True,
        quotas=QUOTAS,
    )


def refuse_demo(data: Path) -> None:
    """A demo's accounts share a password that was shown: never serve them as a real platform."""
    if is_demo(data):
        raise ConfigError(
            Text(
                f"{data} is the folder of a demo; start it with --demo, or choose another with "
                "--data",
                f"{data} 是演示用的目录；请加 --demo 启动，或用 --data 指定其他目录",
            )
        )
