"""What runs and reconstructions show: gait, strides, torques, comparisons."""
