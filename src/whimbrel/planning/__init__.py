"""What should move where: planners, bounds and transfer phases. Pure functions; no Spark, no clock of their own."""

from whimbrel.planning.planner import PLANNERS, plan

__all__ = ["PLANNERS", "plan"]
