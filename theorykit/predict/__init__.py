"""Will a transformer learn a task at all lengths? What theory says, and what networks do."""

from theorykit.predict._lengths import Lengths as Lengths
from theorykit.predict._neighbours import Neighbour as Neighbour
from theorykit.predict._page import page as page
from theorykit.predict._predict import Prediction as Prediction
from theorykit.predict._predict import Size as Size
from theorykit.predict._predict import predict as predict
from theorykit.predict._task import Asked as Asked
from theorykit.predict._task import asked as asked
from theorykit.predict._train import Training as Training
from theorykit.predict._train import Trial as Trial
