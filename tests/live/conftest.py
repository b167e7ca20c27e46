from tests.live.scripts import own_tmp as own_tmp
from tests.live.scripts import questions as questions
