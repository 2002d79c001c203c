# SPDX-License-Identifier: Apache-2.0
"""Models and motions in files of other 3D programs: glTF, X3D and VRML."""
