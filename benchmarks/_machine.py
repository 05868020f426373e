"""The line that every benchmark prints below its table."""

import os
import platform

# One thread: the ratios compare algorithms, not thread counts. Must be set before numpy loads.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")


def machine_line() -> str:
    import numpy
    import scipy
    import sklearn

    cores = os.cpu_count()
    load = os.getloadavg()[0]
    return (
        f"machine: {platform.processor() or platform.machine()}, {cores} cores (load {load:.1f}), "
        f"Python {platform.python_version()}, numpy {numpy.__version__}, scipy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}, one BLAS thread"
    )
