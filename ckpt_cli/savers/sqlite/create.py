def create(path):  # being written
    raise NotImplementedError
