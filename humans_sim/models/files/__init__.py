"""Files of models: YAML, URDF and xacro, read and written."""
