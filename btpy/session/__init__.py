"""One attached target: the public names of :mod:`btpy.session.session`."""

from btpy.session.matching import MatchedClass as MatchedClass
from btpy.session.matching import Matching as Matching
from btpy.session.session import Deployment as Deployment
from btpy.session.session import Item as Item
from btpy.session.session import Limits as Limits
from btpy.session.session import PrintedMap as PrintedMap
from btpy.session.session import ProbeTally as ProbeTally
from btpy.session.session import Receipt as Receipt
from btpy.session.session import Records as Records
from btpy.session.session import Session as Session
from btpy.session.session import Target as Target
