from tests.live.scripts import asked as asked
from tests.live.scripts import own_tmp as own_tmp
