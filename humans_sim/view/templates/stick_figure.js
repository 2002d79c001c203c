// SPDX-License-Identifier: Apache-2.0
// A stick figure that plays: drawn by the page, turned with the mouse.
(() => {
  "use strict";
  const box = document.currentScript.parentElement;
  const data = JSON.parse(box.querySelector("script[type='application/json']").text);
  const canvas = box.querySelector("canvas"), pen = canvas.getContext("2d");
  const button = box.querySelector("button"), speed = box.querySelector("select");
  const slider = box.querySelector("input[type=range]");
  const follow = box.querySelector("input[type=checkbox]");
  const readout = box.querySelector("output");
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const shorts = (text) => new Int16Array(bytes(text).buffer);
  const body = shorts(data.body), markers = shorts(data.markers);
  const differences = shorts(data.differences), status = bytes(data.status);
  const n = data.t.length, m = data.names.length, p = body.length / (3 * n);
  const sides = ["#3d434b", "#1f77b4", "#ff7f0e"];
  const dots = { 0: "#0a7d5a", 2: "#8a63c9", 3: "#d62728", 4: "#9aa1ab" };
  const EMPTY = -32768;
  let frame = 0, playing = false, then = 0, clock = data.t[0];
  let turn = -0.6, rise = 0.15, zoom = 1, hover = null;

  const at = (values, k) => [0, 1, 2].map(
    (i) => data.middle[i] + data.step * values[3 * k + i]);
  const root = (f) => at(body, f * p);
  let low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (let k = 0; k < n * p; k++) {
    const q = at(body, k);
    for (let i = 0; i < 3; i++) {
      low[i] = Math.min(low[i], q[i]); high[i] = Math.max(high[i], q[i]);
    }
  }
  const tall = Math.max(high[2] - low[2], 0.1);
  const center = [0, 1].map((i) => (low[i] + high[i]) / 2);
  const wide = Math.hypot(high[0] - low[0], high[1] - low[1], tall);

  function view() {
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const goal = follow.checked ? root(frame) : center;
    const target = [goal[0], goal[1], (low[2] + high[2]) / 2];
    const across = follow.checked ? tall : 1.05 * wide;
    const unit = zoom * Math.min(width / across, height / (1.25 * tall));
    const c = Math.cos(turn), s = Math.sin(turn);
    const cr = Math.cos(rise), sr = Math.sin(rise);
    return (q) => {
      const x = q[0] - target[0], y = q[1] - target[1], z = q[2] - target[2];
      const right = c * x + s * y, deep = -s * x + c * y;
      return [width / 2 + unit * right, height / 2 - unit * (cr * z + sr * deep)];
    };
  }

  function line(a, b) {
    pen.beginPath(); pen.moveTo(...a); pen.lineTo(...b); pen.stroke();
  }

  function ground(show) {
    const z = Math.abs(low[2]) < 0.3 ? 0 : low[2];
    const from = [0, 1].map((i) => Math.floor(low[i] - 0.5));
    const to = [0, 1].map((i) => Math.ceil(high[i] + 0.5));
    const span = Math.max(to[0] - from[0], to[1] - from[1]);
    const gap = Math.max(0.5, Math.ceil(span / 40));
    pen.strokeStyle = "#e3e6ea"; pen.lineWidth = 1;
    for (let x = from[0]; x <= to[0]; x += gap)
      line(show([x, from[1], z]), show([x, to[1], z]));
    for (let y = from[1]; y <= to[1]; y += gap)
      line(show([from[0], y, z]), show([to[0], y, z]));
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== size[0]) canvas.width = size[0];
    if (canvas.height !== size[1]) canvas.height = size[1];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const show = view();
    ground(show);
    pen.lineCap = "round";
    data.lines.forEach(([a, b, side], k) => {
      const from = show(at(body, frame * p + a)), to = show(at(body, frame * p + b));
      pen.strokeStyle = sides[side]; pen.lineWidth = 3.5;
      if (k === data.head) {
        const size = Math.hypot(to[0] - from[0], to[1] - from[1]);
        const mid = [0, 1].map((i) => from[i] + 0.6 * (to[i] - from[i]));
        line(from, [0, 1].map((i) => from[i] + 0.2 * (to[i] - from[i])));
        pen.beginPath(); pen.arc(...mid, 0.4 * size, 0, 7); pen.stroke();
      } else line(from, to);
    });
    let near = null, best = 10;
    for (let k = 0; k < m; k++) {
      const place = frame * m + k;
      if (markers[3 * place] === EMPTY) continue;
      const q = at(markers, place), there = show(q), kind = status[place];
      if (differences[3 * place] !== EMPTY) {
        const model = show(q.map((x, i) => x - data.fine * differences[3 * place + i]));
        pen.strokeStyle = "#e377c2"; pen.lineWidth = 2; line(there, model);
        pen.beginPath(); pen.arc(...model, 1.8, 0, 7);
        pen.fillStyle = "#e377c2"; pen.fill();
      }
      pen.beginPath(); pen.arc(...there, 2.8, 0, 7);
      pen.fillStyle = dots[kind] || "#9aa1ab"; pen.fill();
      if (hover) {
        const far = Math.hypot(there[0] - hover[0], there[1] - hover[1]);
        if (far < best) { best = far; near = [k, there, place]; }
      }
    }
    if (near) {
      const d = [0, 1, 2].map((i) => data.fine * differences[3 * near[2] + i]);
      const known = differences[3 * near[2]] !== EMPTY;
      const text = data.names[near[0]]
        + (known ? "  " + (1e3 * Math.hypot(...d)).toFixed(1) + " mm" : "");
      pen.font = "13px system-ui, sans-serif";
      const long = pen.measureText(text).width;
      const left = Math.min(near[1][0] + 10, width - long - 8);
      pen.fillStyle = "rgba(255,255,255,.9)";
      pen.fillRect(left - 4, near[1][1] - 24, long + 8, 19);
      pen.fillStyle = "#22262c"; pen.fillText(text, left, near[1][1] - 10);
    }
    readout.textContent = data.t[frame].toFixed(2) + " s, frame " + data.frames[frame]
      + ", rms " + data.rms[frame].toFixed(1) + " mm";
    slider.value = frame;
    canvas.dataset.frame = frame;
  }

  function go(f) {
    frame = Math.max(0, Math.min(n - 1, f)); clock = data.t[frame]; draw();
  }

  function tick(now) {
    if (!playing) return;
    clock += Math.min((now - then) / 1000, 0.25) * Number(speed.value);
    then = now;
    if (clock > data.t[n - 1]) { clock = data.t[0]; frame = 0; }
    while (frame < n - 1 && data.t[frame + 1] <= clock) frame++;
    draw();
    requestAnimationFrame(tick);
  }

  function play(on) {
    playing = on && n > 1;
    button.textContent = playing ? "pause" : "play";
    if (playing) { then = performance.now(); requestAnimationFrame(tick); }
  }

  slider.max = n - 1;
  button.addEventListener("click", () => play(!playing));
  slider.addEventListener("input", () => { play(false); go(Number(slider.value)); });
  follow.addEventListener("change", draw);
  canvas.addEventListener("pointerdown", (e) => canvas.setPointerCapture(e.pointerId));
  canvas.addEventListener("pointermove", (e) => {
    hover = [e.offsetX, e.offsetY];
    if (e.buttons) {
      turn -= e.movementX / 120;
      rise = Math.max(-1.5, Math.min(1.57, rise + e.movementY / 120));
    }
    draw();
  });
  canvas.addEventListener("pointerleave", () => { hover = null; draw(); });
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    zoom = Math.max(0.2, Math.min(12, zoom * Math.exp(-e.deltaY / 500)));
    draw();
  }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (step) { play(false); go(frame + step); }
    else if (e.key === " ") play(!playing);
    else return;
    e.preventDefault();
  });
  new ResizeObserver(draw).observe(canvas);
  draw();
})();
