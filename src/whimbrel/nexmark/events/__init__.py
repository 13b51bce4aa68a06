"""The events of NEXMark: their rules, a deterministic generator, their schedule and their files. No Spark."""

from whimbrel.nexmark.events.files import write_files
from whimbrel.nexmark.events.generator import Events, generate
from whimbrel.nexmark.events.rules import Rules
from whimbrel.nexmark.events.schedule import Schedule
from whimbrel.nexmark.events.schema import AUCTION, BID, EVENT, PERSON

__all__ = ["AUCTION", "BID", "EVENT", "PERSON", "Events", "Rules", "Schedule", "generate", "write_files"]
