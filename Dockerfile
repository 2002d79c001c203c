# SPDX-License-Identifier: Apache-2.0
# ROS 2 Jazzy with humans_sim set up: docker build -t humans_sim . ; docker run --rm -it humans_sim
FROM ros:jazzy-ros-base-noble@sha256:066420e07f60aa18262f2479981def87ebcfcec42eefb0c0c57c4a46098348ca
# hadolint ignore=DL3008
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends git g++ liburdfdom-tools python3-venv python3-dev make \
       ros-jazzy-control-msgs \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --shell /bin/bash humans \
    && install --directory --owner=humans --group=humans /opt/humans_sim
# Nothing below needs to be root: robots, pages and meshes are other people's input.
USER humans
WORKDIR /opt/humans_sim
COPY --chown=humans:humans . .
# Jazzy's own simulation_interfaces is version 1; with this the graphs speak version 2.
RUN . /opt/ros/jazzy/setup.sh && colcon build --base-paths msgs msgs/compat/simulation_interfaces
RUN . install/setup.sh && make setup EMULATE=0
ENV PATH=/opt/humans_sim/.venv/bin:$PATH
ENTRYPOINT ["/bin/bash", "-c", ". install/setup.bash && exec \"$@\"", "humans_sim"]
CMD ["make", "demo", "HEADLESS=1", "EMULATE=0"]
