# SPDX-License-Identifier: Apache-2.0
"""The two RCB-1 boards of a KHR-1 on a pseudo-terminal, written from the protocol.

This emulator shares no line and no table with the package: it was written from the
description of the link alone, so that it and the driver do not share a mistake.

What the description leaves open is chosen here so that a careless driver is noticed:

- A frame with a bad checksum, another board's id, an unknown command or a byte out of
  its range is not answered and changes nothing.
- A byte >= E8 inside a frame starts a new frame. With ``counts_bytes`` the board fills
  the broken frame with the bytes that follow instead.
- ``get positions`` answers with the angles of the servos. With ``reads_command`` the
  board only knows the bytes it was sent last (its home before the first).
- After power-on the channels have no pulses (the servos are limp) until the first set.
  With ``homes_at_power`` the board drives its servos home instead.
- A channel sent DD (free), E1 (low) or E2 (high) has no pulses: its servo is limp.
  DE, DF and E0 (characteristics) change no angle.
- SLEEP takes the pulses away; a motion plays only while the MOTION bit is on.

The description knows no echo and no voltage, so there is none here. A pseudo-terminal
has no DTR line: that it is driven low cannot be checked here.
"""

import os
import select
import tempfile
import termios
import threading
import time
from dataclasses import dataclass, field

CHANNELS = 12
FREE, CHARACTERISTICS, LOW, HIGH = 0xDD, (0xDE, 0xDF, 0xE0), 0xE1, 0xE2
ACKNOWLEDGED = 0x06
SECONDS_PER_DEGREE = (0.0028, 0.0030, 0.0032, 0.0034, 0.0036, 0.0038, 0.0086, 0.0178)
BYTE_TIME = 10 / 115200
"""Eight data bits, a start and a stop bit [s]."""
LENGTHS = {
    0xFF: 4, 0xFE: 2, 0xFD: 16, 0xFC: 3, 0xFB: 3, 0xFA: 3, 0xF9: 18, 0xF8: 5,
    0xF7: 5, 0xF6: 4, 0xF5: 6, 0xF4: 5, 0xF3: 5, 0xF2: 4, 0xF1: 4, 0xF0: 3,
    0xEF: 4, 0xEE: 4, 0xED: 7, 0xEC: 4, 0xE9: 15, 0xE8: 3,
}  # fmt: skip
"""Bytes of a frame by its command, the checksum included."""
HOMES = (
    bytes.fromhex("05 00 5A E1 E1 5A AF B4 5A E1 E1 E1"),
    bytes.fromhex("58 73 73 5A 5C E1 5C 41 41 5A 58 E1"),
)
STOPS = {13: (0, 99), 19: (81, 180), 17: (32, 180)}
"""Where a joint ends before its servo does [deg], by channel."""
PULSED, SPEEDS = range(0xB5), range(8)
POSITIONS = (*PULSED, FREE, *CHARACTERISTICS, LOW, HIGH)
MOTIONS, POSES, SCENARIOS, ENTRIES, KEYS = (
    range(0x28), range(0x64), range(4), range(0xC8), range(0xA0),
)  # fmt: skip
TRIMS, IDS = range(0x28), range(0x20)


@dataclass(frozen=True)
class Heard:
    """One frame on the line.

    Attributes:
        time: Monotonic time at which its last byte arrived [s].
        frame: Its bytes.
        fate: ``ok``, or why no board obeyed: ``checksum``, ``no such board``,
            ``range``, ``cut`` (a new frame began inside it).
        steps: Of a set of positions, for each pulsed channel, the set point before (the
            angle of the servo if it was limp) and the new one [deg].
    """

    time: float
    frame: bytes
    fate: str
    steps: dict[int, tuple[float, float]] = field(default_factory=dict)

    @property
    def command(self) -> int:
        """The first byte."""
        return self.frame[0]


@dataclass
class Servo:
    """A servo whose set point moves at the rate of the board's speed step."""

    angle: float
    stops: tuple[float, float]
    target: float | None = None
    rate: float = 1.0 / SECONDS_PER_DEGREE[0]

    def advance(self, seconds: float) -> None:
        """Turn towards the target, no further than the joint's stop."""
        if self.target is None:
            return
        most = self.rate * seconds
        turned = self.angle + min(max(self.target - self.angle, -most), most)
        self.angle = min(max(turned, self.stops[0]), self.stops[1])


class Board:
    """One RCB-1: its memory, which outlives its power, and its twelve servos."""

    def __init__(self, number: int, reads_command: bool, homes_at_power: bool) -> None:
        self.id = number
        self.reads_command = reads_command
        self.homes_at_power = homes_at_power
        self.home = HOMES[number]
        self.trim = bytes([0x14] * CHANNELS)
        self.motions: dict[tuple[int, int], bytes] = {}
        self.counts: dict[int, int] = {}
        self.scenarios: dict[tuple[int, int], int] = {}
        self.lengths: dict[int, int] = {}
        self.keys: dict[int, bytes] = {}
        first = number * CHANNELS + 1
        self.servos = [
            Servo(float(byte) if byte in PULSED else 90.0, STOPS.get(ch, (0, 180)))
            for ch, byte in enumerate(self.home, start=first)
        ]
        self.poses: list[bytes] = []
        self.now = 0.0

    def power(self, on: bool, now: float) -> None:
        """Switch the battery: without it every servo is limp."""
        self.advance(now)
        self.powered, self.switches = on, 0
        self.sent = self.home
        self.poses = []
        self.pose_ends = now
        for servo in self.servos:
            servo.target = None
        if on and self.homes_at_power:
            self.set_positions(0, self.home)

    def trim_degrees(self, index: int) -> int:
        """What the board adds to the position of a channel [deg]."""
        return self.trim[index] - 0x14

    def reads(self) -> bytes:
        """The twelve bytes of ``get positions``."""
        if self.reads_command:
            return self.sent
        return bytes(
            byte
            if byte in (LOW, HIGH)
            else min(max(round(servo.angle) - self.trim_degrees(k), 0), 0xB4)
            for k, (servo, byte) in enumerate(zip(self.servos, self.sent, strict=True))
        )

    def set_positions(self, speed: int, positions: bytes) -> float:
        """Give every channel its set point.

        Returns:
            How long the largest change lasts [s].
        """
        largest, sent = 0.0, bytearray(self.sent)
        for k, (servo, byte) in enumerate(zip(self.servos, positions, strict=True)):
            if byte in CHARACTERISTICS:
                continue
            sent[k] = byte
            servo.target = None
            if byte in PULSED and not self.switches & 1:
                servo.target = byte + self.trim_degrees(k)
                servo.rate = 1.0 / SECONDS_PER_DEGREE[speed]
                largest = max(largest, abs(servo.target - servo.angle))
        self.sent = bytes(sent)
        return largest * SECONDS_PER_DEGREE[speed]

    def advance(self, now: float) -> None:
        """Move the servos, and a motion that plays, up to a time [s]."""
        while self.poses and self.pose_ends <= now:
            self._turn(self.pose_ends)
            pose = self.poses.pop(0)
            self.pose_ends += self.set_positions(pose[0], pose[1:])
        self._turn(now)

    def _turn(self, now: float) -> None:
        for servo in self.servos:
            servo.advance(max(now - self.now, 0.0))
        self.now = max(now, self.now)

    def play(self, motions: list[int]) -> None:
        """Begin the poses of these motions, one after the other."""
        if self.switches & 2:
            self.pose_ends = self.now
            self.poses = [
                self.motions.get((motion, pose), bytes([0]) + self.home)
                for motion in motions
                for pose in range(self.counts.get(motion, 0))
            ]

    def obey(self, command: int, body: bytes) -> bytes | None:
        """Do what a frame for this board says.

        Args:
            command: Its first byte.
            body: What lies between the id and the checksum.

        Returns:
            What follows the id in a reply to a get, nothing for an acknowledgement,
            None where a byte is out of its range.
        """
        ranges = {
            0xFD: (SPEEDS, *[POSITIONS] * CHANNELS),
            0xF9: (MOTIONS, POSES, SPEEDS, *[POSITIONS] * CHANNELS),
            0xF8: (MOTIONS, POSES),
            0xF7: (MOTIONS, range(len(POSES) + 1)),
            0xF6: (MOTIONS,),
            0xF5: (SCENARIOS, ENTRIES, MOTIONS),
            0xF4: (SCENARIOS, ENTRIES),
            0xF3: (SCENARIOS, range(len(ENTRIES) + 1)),
            0xF2: (SCENARIOS,),
            0xF1: (range(4),),
            0xEF: (MOTIONS,),
            0xEE: (SCENARIOS,),
            0xED: (KEYS, range(256), range(256), MOTIONS),
            0xEC: (KEYS,),
            0xE9: [TRIMS] * CHANNELS,
        }.get(command, ())
        if any(byte not in span for byte, span in zip(body, ranges, strict=True)):
            return None
        match command:
            case 0xFD:
                self.poses = []
                self.set_positions(body[0], body[1:])
            case 0xFC:
                return self.reads()
            case 0xFB:
                self.home = self.reads()
            case 0xFA:
                return self.home
            case 0xF9:
                self.motions[body[0], body[1]] = body[2:]
            case 0xF8:
                return self.motions.get((body[0], body[1]), bytes([0]) + self.home)
            case 0xF7:
                self.counts[body[0]] = body[1]
            case 0xF6:
                return bytes([self.counts.get(body[0], 0)])
            case 0xF5:
                self.scenarios[body[0], body[1]] = body[2]
            case 0xF4:
                return bytes([self.scenarios.get((body[0], body[1]), 0)])
            case 0xF3:
                self.lengths[body[0]] = body[1]
            case 0xF2:
                return bytes([self.lengths.get(body[0], 0)])
            case 0xF1:
                self.switch(body[0])
            case 0xF0:
                return bytes([self.switches])
            case 0xEF:
                self.play([body[0]])
            case 0xEE:
                entries = range(self.lengths.get(body[0], 0))
                self.play([self.scenarios.get((body[0], k), 0) for k in entries])
            case 0xED:
                self.keys[body[0]] = body[1:]
            case 0xEC:
                return self.keys.get(body[0], bytes(3))
            case 0xE9:
                self.trim = body
                for k, servo in enumerate(self.servos):
                    if servo.target is not None:
                        servo.target = self.sent[k] + self.trim_degrees(k)
            case 0xE8:
                return self.trim
        return b""

    def switch(self, bits: int) -> None:
        """Set SLEEP (bit 0) and MOTION (bit 1)."""
        self.switches = bits
        if bits & 1:
            for servo in self.servos:
                servo.target = None
        if not bits & 2:
            self.poses = []


class SecondBoards:
    """Both boards on one line; a context manager.

    Args:
        counts_bytes: A frame that was cut short swallows the bytes that follow.
        reads_command: ``get positions`` repeats the bytes sent last.
        homes_at_power: The boards drive their servos home at power-on.
        turnaround: From the last byte of a frame to the first of its reply [s].

    Attributes:
        path: The device's path; a link that outlives ``unplug`` and ``replug``.
        log: Every frame heard.
        settings_wrong: How many bytes came while the line was not 115200 baud, raw,
            8N1 without flow control: to the boards they are noise.
        lock: Held while the boards hear or move.
    """

    def __init__(
        self,
        *,
        counts_bytes: bool = False,
        reads_command: bool = False,
        homes_at_power: bool = False,
        turnaround: float = 0.0005,
    ) -> None:
        self.counts_bytes = counts_bytes
        self.turnaround = turnaround
        self.log: list[Heard] = []
        self.settings_wrong = 0
        self._boards = [Board(k, reads_command, homes_at_power) for k in range(2)]
        self.lock = threading.RLock()
        self._folder = tempfile.TemporaryDirectory(prefix="boards")
        self.path = os.path.join(self._folder.name, "tty")
        self._master = self._slave = -1
        self._partial = bytearray()
        self._arrival = self._line_free = 0.0
        self._replies: list[tuple[float, bytes]] = []
        self._lost_replies = self._lost_requests = self._late = 0
        self._garbled_replies = self._garbled_requests = self._asked_ids = 0
        self._extra = 0.0
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._running = False

    def __enter__(self) -> "SecondBoards":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Open the line and serve it."""
        self.power(True)
        self.replug()
        self._running = True
        self._thread.start()

    def stop(self) -> None:
        """Close the line."""
        self._running = False
        os.write(self._waker, b"x")
        self._thread.join()
        self.unplug()
        os.close(self._wake)
        os.close(self._waker)
        self._folder.cleanup()

    # What a test does to the robot.

    def power(self, on: bool) -> None:
        """Switch the robot's battery; off, the servos are limp and no board answers."""
        with self.lock:
            self._partial.clear()
            self._replies.clear()
            for board in self._boards:
                board.power(on, time.monotonic())

    def unplug(self) -> None:
        """Take the adapter away: the device vanishes, the boards hold their pose."""
        with self.lock:
            if self._master >= 0:
                os.unlink(self.path)
                os.close(self._master)
                os.close(self._slave)
            self._master = self._slave = -1
            self._partial.clear()
            self._replies.clear()
        # The device is gone when the thread that waits on it lets go of it.
        os.write(self._waker, b"x")

    def replug(self) -> None:
        """Bring the device back under the same path."""
        with self.lock:
            self.unplug()
            # The slave is held open, or the line would hang up between two drivers.
            self._master, self._slave = os.openpty()
            os.set_blocking(self._master, False)
            os.symlink(os.ttyname(self._slave), self.path)
        os.write(self._waker, b"x")

    def bend(self, channel: int, degrees: float) -> None:
        """Turn a limp servo by hand to an angle [deg]."""
        with self.lock:
            board, k = self._at(channel)
            board.advance(time.monotonic())
            if board.servos[k].target is not None:
                raise RuntimeError(f"channel {channel} is driven: it cannot be bent")
            board.servos[k].angle = float(degrees)

    def lose(self, replies: int = 1, *, requests: int = 0) -> None:
        """Lose the next replies (the boards obey all the same) or requests."""
        with self.lock:
            self._lost_replies, self._lost_requests = replies, requests

    def garble(self, replies: int = 1, *, requests: int = 0) -> None:
        """Turn a bit over in each of the next replies, or of the next requests."""
        with self.lock:
            self._garbled_replies, self._garbled_requests = replies, requests

    def delay(self, seconds: float, replies: int = 1) -> None:
        """Send the next replies this much later [s]."""
        with self.lock:
            self._extra, self._late = seconds, replies

    def noise(self, noise: bytes) -> None:
        """Send bytes that nobody asked for."""
        with self.lock:
            self._replies.append((time.monotonic(), noise))
        os.write(self._waker, b"x")

    # What a test asks.

    def angle(self, channel: int) -> float:
        """Where a servo stands now [deg], trim included."""
        with self.lock:
            board, k = self._at(channel)
            board.advance(time.monotonic())
            return board.servos[k].angle

    def limp(self, channel: int) -> bool:
        """Whether a servo has no pulses."""
        with self.lock:
            board, k = self._at(channel)
            board.advance(time.monotonic())
            return board.servos[k].target is None

    def heard(self, command: int, fate: str = "ok") -> list[Heard]:
        """The frames of one command, oldest first."""
        with self.lock:
            return [h for h in self.log if h.command == command and h.fate == fate]

    def set_points(self, channel: int) -> list[tuple[float, float]]:
        """Time [s] and set point [deg] of every pulse train a channel was given."""
        frames = self.heard(0xFD)
        return [(h.time, h.steps[channel][1]) for h in frames if channel in h.steps]

    def largest_step(self, channels: tuple[int, ...] = tuple(range(1, 25))) -> float:
        """Largest distance between a set point and the one before [deg]."""
        return max(
            (
                abs(new - old)
                for heard in self.heard(0xFD)
                for channel, (old, new) in heard.steps.items()
                if channel in channels
            ),
            default=0.0,
        )

    # The line.

    def _at(self, channel: int) -> tuple[Board, int]:
        return self._boards[(channel - 1) // CHANNELS], (channel - 1) % CHANNELS

    def _serve(self) -> None:
        while self._running:
            with self.lock:
                master, due = self._master, self._send_due()
            sources = [self._wake] + ([master] if master >= 0 else [])
            try:
                ready, _, _ = select.select(sources, [], [], due)
            except OSError:  # The line was unplugged in between.
                continue
            if self._wake in ready:
                os.read(self._wake, 64)
            with self.lock:
                if self._master == master and master in ready:
                    try:
                        self._hear(os.read(master, 4096))
                    except OSError:
                        continue

    def _send_due(self) -> float | None:
        """Send the reply bytes whose time has come; how long until the next [s]."""
        while self._replies:
            when, reply = self._replies[0]
            begins = max(when, self._line_free)
            wait = begins + BYTE_TIME - time.monotonic()
            if wait > 0:
                return wait
            self._line_free = begins + BYTE_TIME
            try:
                if self._master >= 0:
                    os.write(self._master, reply[:1])
            except BlockingIOError:
                pass  # Nobody reads: the receiver overruns and the byte is lost.
            if reply[1:]:
                self._replies[0] = (when, reply[1:])
            else:
                self._replies.pop(0)
        return None

    def _settings_right(self) -> bool:
        iflag, _, cflag, lflag, ispeed, ospeed, _ = termios.tcgetattr(self._slave)
        wrong = termios.PARENB | termios.CSTOPB | termios.CRTSCTS
        return (
            ispeed == ospeed == termios.B115200
            and cflag & termios.CSIZE == termios.CS8
            and not cflag & wrong
            and not iflag & (termios.IXON | termios.IXOFF | termios.ICRNL)
            and not lflag & (termios.ICANON | termios.ECHO)
        )

    def _hear(self, received: bytes) -> None:
        """Take bytes from the line, each in the time it needs on the wire."""
        if not self._settings_right():
            self.settings_wrong += len(received)
            return
        now = time.monotonic()
        for byte in received:
            self._arrival = max(self._arrival, now) + BYTE_TIME
            if not self._boards[0].powered:
                continue
            if byte >= 0xE8 and not (self._partial and self.counts_bytes):
                if self._partial:
                    self._note("cut")
                self._partial.clear()
            if self._partial or byte in LENGTHS:
                self._partial.append(byte)
            if self._partial and len(self._partial) == LENGTHS[self._partial[0]]:
                self._take()
                self._partial.clear()

    def _note(self, fate: str, steps: dict | None = None) -> None:
        frame = bytes(self._partial)
        self.log.append(Heard(self._arrival, frame, fate, steps or {}))

    def _take(self) -> None:
        """Check a whole frame and let the boards obey it."""
        if self._lost_requests:
            self._lost_requests -= 1
            return
        if self._garbled_requests:
            self._garbled_requests -= 1
            self._partial[len(self._partial) // 2] ^= 0x04
        frame = bytes(self._partial)
        if sum(frame[:-1]) & 0x7F != frame[-1]:
            return self._note("checksum")
        for board in self._boards:
            board.advance(self._arrival)
        if frame[0] == 0xFE:
            # Either board answers; in turn, so that a driver meets both.
            self._asked_ids += 1
            self._note("ok")
            return self._reply(self._summed([self._boards[self._asked_ids % 2].id]))
        if frame[0] == 0xFF:
            if frame[1] != 0x5A or frame[2] not in IDS:
                return self._note("range")
            # Every board on the line hears it, and their equal replies coincide.
            for board in self._boards:
                board.id = frame[2]
            self._note("ok")
            return self._reply(bytes([frame[2], ACKNOWLEDGED]))
        named = [board for board in self._boards if board.id == frame[1]]
        if not named:
            return self._note("no such board")
        for board in named:
            steps = self._steps(board, frame)
            answer = board.obey(frame[0], frame[2:-1])
            if answer is None:
                return self._note("range")
        self._note("ok", steps)
        if answer:
            self._reply(self._summed([frame[1], *answer]))
        else:
            self._reply(bytes([frame[1], ACKNOWLEDGED]))

    def _steps(self, board: Board, frame: bytes) -> dict[int, tuple[float, float]]:
        """What a set of positions asks of each servo, before it moves [deg]."""
        if frame[0] != 0xFD:
            return {}
        first = self._boards.index(board) * CHANNELS + 1
        return {
            first + k: (
                (servo.angle if servo.target is None else servo.target)
                - board.trim_degrees(k),
                float(byte),
            )
            for k, (servo, byte) in enumerate(
                zip(board.servos, frame[3:15], strict=True)
            )
            if byte in PULSED
        }

    @staticmethod
    def _summed(reply: list[int]) -> bytes:
        return bytes([*reply, sum(reply) & 0x7F])

    def _reply(self, reply: bytes) -> None:
        if self._lost_replies:
            self._lost_replies -= 1
            return
        if self._garbled_replies:
            self._garbled_replies -= 1
            broken = bytearray(reply)
            broken[len(reply) // 2] ^= 0x04
            reply = bytes(broken)
        extra = 0.0
        if self._late:
            self._late -= 1
            extra = self._extra
        self._replies.append((self._arrival + self.turnaround + extra, reply))
