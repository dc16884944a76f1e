"use strict";
(() => {
  const scene = JSON.parse(document.getElementById("scene").textContent);
  const find = (id) => document.getElementById(id);
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const ramp = scene.scale.map((hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16)));
  const colour = (share) => {
    const at = Math.max(0, Math.min(1, share)) * (ramp.length - 1), k = Math.min(Math.floor(at), ramp.length - 2);
    return ramp[k].map((value, c) => value + (at - k) * (ramp[k + 1][c] - value));
  };
  const GREY = [196, 202, 208]; // what does not move, or has no identifiable parameters
  const css = (rgb) => `rgb(${rgb.map(Math.round).join(",")})`;
  find("ramp").style.background = `linear-gradient(90deg, ${scene.scale.join(", ")})`;

  // ---- The robot: a depth buffer in plain JavaScript, so that no graphics card is needed.
  const parts = scene.parts.map((part) => {
    const corners = new Int16Array(bytes(part.corners).buffer), normals = new Int8Array(bytes(part.normals).buffer);
    const local = new Float32Array(corners.length);
    for (let k = 0; k < corners.length; k++) local[k] = part.middle[k % 3] + part.step * corners[k];
    const low = [0, 1, 2].map((c) => Infinity), high = low.map((v) => -v);
    for (let k = 0; k < local.length; k++) { low[k % 3] = Math.min(low[k % 3], local[k]); high[k % 3] = Math.max(high[k % 3], local[k]); }
    const corner = (k) => [0, 1, 2].map((c) => (k >> c) & 1 ? high[c] : low[c]);
    return { link: part.link, segment: part.segment, box: [0, 1, 2, 3, 4, 5, 6, 7].map(corner), local, normals, seen: new Float32Array(corners.length), light: new Float32Array(corners.length / 3) };
  });
  const canvas = find("robot"), context = canvas.getContext("2d");
  const camera = { turn: 0, tilt: 0, zoom: 1 };
  const towards = scene.view[2], up = scene.up;
  let frames = null, preview = null, shares = scene.segments.map(() => 0), dirty = true, buffers = null;

  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const unit = (a) => { const n = Math.hypot(...a) || 1; return a.map((v) => v / n); };
  function axes() {
    const flat = unit(towards.map((v, k) => v - dot(towards, up) * up[k])), side = cross(up, flat);
    const ahead = flat.map((v, k) => Math.cos(camera.turn) * v + Math.sin(camera.turn) * side[k]);
    const e = Math.max(-1.5, Math.min(1.5, 0.35 + camera.tilt));
    const at = ahead.map((v, k) => Math.cos(e) * v + Math.sin(e) * up[k]);
    const right = unit(cross(up, at));
    return [right, cross(at, right), at];
  }
  function resize() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2), box = canvas.getBoundingClientRect();
    let w = Math.max(1, Math.round(box.width * ratio)), h = Math.max(1, Math.round(box.height * ratio));
    const shrink = Math.min(1, Math.sqrt(900000 / (w * h)));
    w = Math.round(w * shrink); h = Math.round(h * shrink);
    if (canvas.width !== w || canvas.height !== h || !buffers) {
      canvas.width = w; canvas.height = h;
      buffers = { depth: new Float32Array(w * h), owner: new Int16Array(w * h), image: context.createImageData(w, h) };
    }
  }
  const lamp = unit([-0.35, 0.55, 0.76]);
  const centre = [0, 0, 0];
  const reached = Array.from({ length: 96 }, (_, k) => { // directions all around, with the farthest point that was reached in each
    const z = 1 - (2 * k + 1) / 96, angle = 2.399963 * k, r = Math.sqrt(1 - z * z);
    return { along: [r * Math.cos(angle), r * Math.sin(angle), z], most: -Infinity, point: null };
  });
  const poseOf = (part, poses) => part.link < 0 ? [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0] : poses.slice(12 * part.link, 12 * part.link + 12);
  const moved = (T, p, i) => T[4 * i] * p[0] + T[4 * i + 1] * p[1] + T[4 * i + 2] * p[2] + T[4 * i + 3];
  function fit(poses, view, w, h) { // all that was reached so far is in the picture; a body that walks stays in its middle
    const origin = scene.floating ? [poses[3], poses[7], poses[11]] : [0, 0, 0];
    for (const part of parts) {
      const T = poseOf(part, poses);
      for (const p of part.box) {
        const at = origin.map((o, i) => moved(T, p, i) - o);
        for (const far of reached) {
          const size = dot(far.along, at);
          if (size > far.most) { far.most = size; far.point = at; }
        }
      }
    }
    const ends = view.map((axis) => {
      const all = reached.map((far) => dot(axis, far.point));
      return [Math.min(...all), Math.max(...all)];
    });
    for (let i = 0; i < 3; i++) centre[i] = origin[i] + view.reduce((sum, axis, k) => sum + axis[i] * 0.5 * (ends[k][0] + ends[k][1]), 0);
    return camera.zoom * 0.94 * Math.min(w / (ends[0][1] - ends[0][0]), h / (ends[1][1] - ends[1][0]));
  }
  function place(part, poses, view, scale, w, h) {
    const T = poseOf(part, poses);
    const M = new Float32Array(9), t = [0, 0, 0];
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 3; j++) M[3 * i + j] = view[i][0] * T[j] + view[i][1] * T[4 + j] + view[i][2] * T[8 + j];
      t[i] = dot(view[i], [T[3] - centre[0], T[7] - centre[1], T[11] - centre[2]]);
    }
    const { local, normals, seen, light } = part;
    for (let k = 0; k < local.length; k += 3) {
      const x = local[k], y = local[k + 1], z = local[k + 2];
      seen[k] = w / 2 + scale * (M[0] * x + M[1] * y + M[2] * z + t[0]);
      seen[k + 1] = h / 2 - scale * (M[3] * x + M[4] * y + M[5] * z + t[1]);
      seen[k + 2] = M[6] * x + M[7] * y + M[8] * z + t[2];
      const a = normals[k] / 127, b = normals[k + 1] / 127, c = normals[k + 2] / 127;
      let nx = M[0] * a + M[1] * b + M[2] * c, ny = M[3] * a + M[4] * b + M[5] * c, nz = M[6] * a + M[7] * b + M[8] * c;
      if (nz < 0) { nx = -nx; ny = -ny; nz = -nz; }
      light[k / 3] = 0.58 + 0.42 * Math.max(0, nx * lamp[0] + ny * lamp[1] + nz * lamp[2]) + 0.16 * Math.pow(Math.max(0, nz), 30);
    }
  }
  function fill(part, owner, rgb, w, h) {
    const { seen, light } = part, { depth, image } = buffers, pixels = image.data, owners = buffers.owner;
    for (let k = 0, v = 0; k < seen.length; k += 9, v += 3) {
      const x0 = seen[k], y0 = seen[k + 1], x1 = seen[k + 3], y1 = seen[k + 4], x2 = seen[k + 6], y2 = seen[k + 7];
      const area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0);
      if (area === 0) continue;
      const left = Math.max(0, Math.ceil(Math.min(x0, x1, x2) - 0.5)), right = Math.min(w - 1, Math.floor(Math.max(x0, x1, x2) - 0.5));
      const top = Math.max(0, Math.ceil(Math.min(y0, y1, y2) - 0.5)), bottom = Math.min(h - 1, Math.floor(Math.max(y0, y1, y2) - 0.5));
      const z0 = seen[k + 2], z1 = seen[k + 5], z2 = seen[k + 8], inverse = 1 / area;
      for (let y = top; y <= bottom; y++) {
        const py = y + 0.5;
        for (let x = left; x <= right; x++) {
          const px = x + 0.5;
          const b1 = ((px - x0) * (y2 - y0) - (x2 - x0) * (py - y0)) * inverse;
          const b2 = ((x1 - x0) * (py - y0) - (px - x0) * (y1 - y0)) * inverse;
          const b0 = 1 - b1 - b2;
          if (b0 < 0 || b1 < 0 || b2 < 0) continue;
          const z = b0 * z0 + b1 * z1 + b2 * z2, at = y * w + x;
          if (z <= depth[at]) continue;
          depth[at] = z; owners[at] = owner;
          const shade = b0 * light[v] + b1 * light[v + 1] + b2 * light[v + 2];
          pixels[4 * at] = rgb[0] * shade; pixels[4 * at + 1] = rgb[1] * shade; pixels[4 * at + 2] = rgb[2] * shade; pixels[4 * at + 3] = 255;
        }
      }
    }
  }
  function outline(w, h) { // dark lines where one segment ends in front of another
    const { depth, owner, image } = buffers, pixels = image.data, step = 0.02 * scene.size;
    for (let y = 0; y < h - 1; y++) {
      for (let x = 0; x < w - 1; x++) {
        const at = y * w + x;
        for (const next of [at + 1, at + w]) {
          if (owner[at] === owner[next] && Math.abs(depth[at] - depth[next]) < step) continue;
          const near = depth[at] >= depth[next] ? at : next;
          if (owner[near] === -2) continue;
          for (let c = 0; c < 3; c++) pixels[4 * near + c] *= 0.45;
        }
      }
    }
  }
  function draw() {
    const poses = preview && showing() ? previewPose() : frames;
    if (!poses) return;
    resize();
    const w = canvas.width, h = canvas.height, view = axes();
    const scale = fit(poses, view, w, h);
    buffers.depth.fill(-1e9); buffers.owner.fill(-2); buffers.image.data.fill(0);
    for (const part of parts) {
      place(part, poses, view, scale, w, h);
      const share = part.segment < 0 ? null : shares[part.segment];
      fill(part, part.segment, share === null ? GREY : colour(share), w, h);
    }
    outline(w, h);
    context.putImageData(buffers.image, 0, 0);
  }
  const showing = () => find("show").getAttribute("aria-pressed") === "true";
  function previewPose() {
    const along = (performance.now() / 1000 % preview.seconds) / preview.seconds * (preview.frames.length - 1);
    return preview.frames[Math.round(along)];
  }
  (function loop() {
    if (dirty || (preview && showing())) { dirty = false; draw(); }
    requestAnimationFrame(loop);
  })();

  // ---- Looking around
  const touches = new Map();
  canvas.addEventListener("pointerdown", (e) => { touches.set(e.pointerId, [e.clientX, e.clientY]); canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", (e) => {
    const before = touches.get(e.pointerId);
    if (!before) return;
    if (touches.size === 2) {
      const other = [...touches].find(([id]) => id !== e.pointerId)[1];
      const length = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      zoom(length([e.clientX, e.clientY]) / length(before));
    } else { camera.turn -= (e.clientX - before[0]) * 0.01; camera.tilt += (e.clientY - before[1]) * 0.01; }
    touches.set(e.pointerId, [e.clientX, e.clientY]);
    dirty = true;
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (e) => touches.delete(e.pointerId));
  const zoom = (factor) => { camera.zoom = Math.max(0.3, Math.min(8, camera.zoom * factor)); dirty = true; };
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); zoom(Math.exp(-0.001 * e.deltaY)); }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[e.key];
    if (step) { e.preventDefault(); camera.turn += step[0]; camera.tilt += step[1]; dirty = true; }
    if (e.key === "+" || e.key === "-") zoom(e.key === "+" ? 1.15 : 1 / 1.15);
  });
  addEventListener("resize", () => { dirty = true; });

  // ---- Numbers
  const short = (x) => x === null || x === undefined ? "–" : x >= 1e5 ? x.toExponential(1).replace("e+", "e") : x >= 100 ? Math.round(x).toString() : x.toPrecision(3);
  const percent = (x) => x >= 10 ? Math.round(x).toString() : x >= 0.1 || x === 0 ? x.toPrecision(2) : "<0.1"; // fits its column
  const set = (id, text) => { const e = find(id); if (e.textContent !== text) e.textContent = text; };
  function bars(id, names, coloured) {
    return names.map((name) => {
      const row = document.createElement("li"), label = document.createElement("span"), bar = document.createElement("i");
      const fillIn = document.createElement("i"), value = document.createElement("b");
      name.split(/(?<=[_./-])/).forEach((part) => label.append(part, document.createElement("wbr"))); // where long names break
      label.title = name; value.textContent = "–";
      bar.append(fillIn); row.append(label, bar, value); find(id).append(row);
      return (share, text, rgb) => {
        fillIn.style.width = `${(100 * Math.max(0, Math.min(1, share))).toFixed(1)}%`;
        fillIn.style.backgroundColor = css(rgb || [0, 114, 178]);
        row.dataset.share = share.toFixed(3); row.dataset.colour = css(rgb || [0, 114, 178]);
        value.textContent = text;
      };
    });
  }
  const segmentBars = bars("segments", scene.segments);
  let rowNames = null, jointBars = [];
  function curve(id, points, extra = () => {}) { // logarithmic; returns the range, or null where there is none yet
    const known = points.filter((point) => point[1] !== null && point[1] > 0), svg = find(id);
    svg.replaceChildren();
    if (known.length < 2) return null;
    const t0 = points[0][0], t1 = points[points.length - 1][0], logs = known.map((point) => Math.log10(point[1]));
    const ends = [Math.min(...logs), Math.max(...logs)];
    const low = Math.floor(ends[0] * 2) / 2, high = Math.max(low + 0.5, Math.ceil(ends[1] * 2) / 2);
    const x = (t) => 400 * (t - t0) / Math.max(t1 - t0, 1e-9), y = (l) => 112 - 104 * (l - low) / (high - low);
    const add = (kind, attributes) => { const e = document.createElementNS("http://www.w3.org/2000/svg", kind); for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v); svg.append(e); };
    for (let decade = Math.ceil(low); decade <= high; decade++) add("line", { x1: 0, x2: 400, y1: y(decade), y2: y(decade) });
    extra(add, x, y, [low, high], [t0, t1]);
    add("path", { d: known.map((point, k) => `${k ? "L" : "M"}${x(point[0]).toFixed(1)} ${y(logs[k]).toFixed(1)}`).join("") });
    return { from: `${t0.toFixed(0)} s`, to: `${t1.toFixed(0)} s`, least: 10 ** ends[0], most: 10 ** ends[1] };
  }
  function course(history) {
    const found = curve("course", history);
    set("from", found ? found.from : ""); set("to", found ? found.to : "");
    set("range", found ? `from ${short(found.most)} to ${short(found.least)}` : "no finite value yet");
  }
  function changes(state, seconds) {
    const card = find("changes"), latest = state.alarms[state.alarms.length - 1];
    card.hidden = state.learned === null;
    card.classList.toggle("alarm", !!latest && seconds - latest.seconds < 30);
    const said = (alarm) => `${alarm.seconds.toFixed(1)} s: ${alarm.text}${alarm.settled ? "" : " (cause not settled yet)"}`;
    const learning = state.learned === 0 ? "not watched yet: parameters are not determined well enough" : state.learned < 1 ? `learning what is normal: ${Math.floor(100 * (state.learned || 0))} % of the motion that it takes` : "";
    find("change").classList.toggle("quiet", !latest);
    set("change", latest ? said(latest) : learning || "none so far");
    set("mixed", latest ? "All estimates are of the samples before and after it." : "");
    find("alarms").replaceChildren(...[...(latest && learning ? [learning] : []), ...state.alarms.slice(0, -1).reverse().map(said)].map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
    const found = curve("evidence", state.course, (add, x, y, [low, high], [t0, t1]) => {
      if (low <= 0 && high >= 0) add("line", { x1: 0, x2: 400, y1: y(0), y2: y(0), class: "limit" });
      for (const alarm of state.alarms) if (alarm.seconds >= t0 && alarm.seconds <= t1) add("line", { x1: x(alarm.seconds), x2: x(alarm.seconds), y1: 0, y2: 120, class: "alarm" });
    });
    set("evidence-from", found ? found.from : ""); set("evidence-to", found ? found.to : "");
    const now = state.level === null ? "" : `, now ${short(state.level)} (${state.place})`;
    set("evidence-range", found ? `evidence; an alarm at 1, most ${short(found.most)}${now}` : "");
  }
  function counts(state) {
    const c = state.counts, list = find("counts"), kinds = Object.entries(c.malformed), rows = [];
    const ignored = kinds.reduce((sum, kind) => sum + kind[1], 0);
    rows.push(["rate", state.rate === null ? "–" : `${short(state.rate)} Hz`], ["samples", state.samples.toLocaleString("en")], ["time", `${state.seconds.toFixed(1)} s`]);
    rows.push(["malformed", ignored.toLocaleString("en"), ignored], ["late", `${c.late}`, c.late], ["dropped", `${c.dropped}`, c.dropped], ["gaps", `${c.gaps}`, c.gaps], ["waiting", `${state.waiting}`]);
    if (kinds.length) rows.push(["malformed, by kind", kinds.map(([kind, n]) => `${kind}: ${n.toLocaleString("en")}`).join(", "), 0, true]);
    list.replaceChildren(...rows.map(([name, text, bad, wide]) => {
      const box = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = name; dd.textContent = text; box.dataset.count = name;
      if (bad) box.className = "bad";
      if (wide) box.className = "wide";
      box.append(dt, dd);
      return box;
    }));
  }
  function proposal(next) {
    set("next", next.text); set("detail", next.detail); set("gain", next.gain); set("why", [next.why, next.note].filter(Boolean).join(" "));
    find("others").replaceChildren(...next.others.map((other) => {
      const item = document.createElement("li"), text = document.createElement("span"), gain = document.createElement("b");
      text.textContent = other.text; gain.textContent = other.gain; item.append(text, gain);
      return item;
    }));
  }
  function shown(state) {
    const status = find("status");
    status.dataset.state = state.status; set("status", state.status_text);
    set("condition", state.condition_number === null ? (state.samples ? "infinite" : "–") : short(state.condition_number));
    set("rank", state.parameters ? `${state.rank} of ${state.parameters} base parameters determined` : "");
    scene.segments.forEach((name, k) => {
      const share = state.segments[name];
      shares[k] = share;
      segmentBars[k](share || 0, share === null ? "none" : `${Math.round(100 * share)} %`, share === null ? GREY : colour(share));
    });
    if (rowNames === null && state.rows.length) { rowNames = state.rows.map((row) => row.name); jointBars = bars("joints", rowNames); }
    state.rows.forEach((row, k) => { const e = row.relative_error; jointBars[k](e || 0, e === null ? "–" : `${percent(100 * e)} %`); });
    course(state.course); changes(state.changes, state.seconds); counts(state); proposal(state.next_step);
    dirty = true;
  }
  find("show").addEventListener("click", () => {
    find("show").setAttribute("aria-pressed", String(!showing()));
    find("preview").hidden = !showing();
    dirty = true;
  });

  // ---- Events
  const events = new EventSource("events");
  events.addEventListener("posture", (e) => { frames = JSON.parse(e.data); dirty = true; });
  events.addEventListener("state", (e) => shown(JSON.parse(e.data)));
  events.addEventListener("motion", (e) => { const found = JSON.parse(e.data); preview = found.frames.length ? found : null; find("show").disabled = !preview; dirty = true; });
  events.addEventListener("error", () => { const status = find("status"); if (status.dataset.state !== "ended") { status.dataset.state = "lost"; set("status", "connection lost"); } else events.close(); });
})();
