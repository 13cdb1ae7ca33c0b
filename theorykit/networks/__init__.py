"""Networks of finite width: the modules, the tasks they learn, training, and the comparison."""
