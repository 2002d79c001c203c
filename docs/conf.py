# SPDX-License-Identifier: Apache-2.0
"""Settings of the pages that `make docs` builds with Sphinx."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

from humans_sim.core.version import __version__  # noqa: E402

project = "humans_sim"
author = "humans_sim maintainers"
project_copyright = "humans_sim maintainers; Apache-2.0"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
extensions += ["contents", "mathml", "project_pages", "python_reference"]
extensions += ["ros_reference"]
root_doc = "index"
# In this order: rosdoc2 puts an index.rst beside index.md.
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_ext"]
# Attributes of one letter have several targets.
suppress_warnings = ["ref.python"]

myst_enable_extensions = ["dollarmath"]
# Anchors are those that Git hosts make of headings.
myst_heading_anchors = 6
myst_fence_as_directive = []

# Members of classes are on their pages, not in the navigation of all.
toc_object_entries = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_use_ivar = True
napoleon_use_rtype = False
python_maximum_signature_line_length = 80

# Nothing is fetched when a page is read: no fonts, no scripts of others.
html_theme = "furo"
html_title = f"humans_sim {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
pygments_dark_style = "github-dark"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}

# rosdoc2 runs this file, too, on a copy of this folder.
rosdoc2_settings = {"allow_other_extensions": True, "override_theme": False}
