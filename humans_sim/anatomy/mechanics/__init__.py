# SPDX-License-Identifier: Apache-2.0
"""What moves bones: contact forces, percussions, ligaments, and their equations."""
