#!/usr/bin/env python3
"""Makes the .npy and raw tensors of this folder with NumPy. Needs NumPy."""
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
IDS = np.array([72, 101, 108, 108, 111], dtype=np.int64)  # "Hello", one token a byte

np.save(HERE / "row_i4.npy", IDS.astype("<i4"))
np.save(HERE / "rows_i8.npy", np.stack([IDS, IDS[::-1]]).astype("<i8"))
np.save(HERE / "fortran.npy", np.asfortranarray(np.stack([IDS, IDS[::-1]]).astype("<i4")))
np.save(HERE / "floats.npy", IDS.astype("<f4"))
np.save(HERE / "cube.npy", IDS.astype("<i4").reshape(1, 1, 5))
with open(HERE / "version2.npy", "wb") as file:
    np.lib.format.write_array(file, IDS.astype("<i4"), version=(2, 0))
(HERE / "ids_i4.raw").write_bytes(IDS.astype("<i4").tobytes())
(HERE / "even_i4.raw").write_bytes(IDS[:4].astype("<i4").tobytes())
(HERE / "ids_i8.raw").write_bytes(IDS.astype("<i8").tobytes())
(HERE / "floats.raw").write_bytes(IDS.astype("<f4").tobytes())
