"""Designs of clinical trials written as plans, with exact operating characteristics; docs/trials.md is their page."""

from banditree.designs.boundaries import limits as limits
from banditree.designs.boundaries import obrien_fleming as obrien_fleming
from banditree.designs.boundaries import pocock as pocock
from banditree.designs.characteristics import Characteristics as Characteristics
from banditree.designs.characteristics import Design as Design
from banditree.designs.characteristics import characteristics as characteristics
from banditree.designs.crossover import n_of_1 as n_of_1
from banditree.designs.doses import three_plus_three as three_plus_three
from banditree.designs.simon import find_simon as find_simon
from banditree.designs.simon import simon as simon
from banditree.designs.sprt import sprt as sprt
from banditree.designs.stages import group_sequential as group_sequential
