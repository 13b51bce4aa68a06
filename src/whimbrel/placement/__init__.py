"""Which server hosts which mouse: placement of thousands of small queries, generators, churn."""

from whimbrel.placement.catalogue import ALGORITHMS, place
from whimbrel.placement.errors import CannotPlace
from whimbrel.placement.generator import generate_instance
from whimbrel.placement.instance import PlacementInstance
from whimbrel.placement.reading import instance_of_json, json_of_instance
from whimbrel.placement.result import Placement
from whimbrel.placement.validation import faults_of

__all__ = [
    "ALGORITHMS",
    "CannotPlace",
    "Placement",
    "PlacementInstance",
    "faults_of",
    "generate_instance",
    "instance_of_json",
    "json_of_instance",
    "place",
]
