// A ZIP of files as they are: photos and videos are compressed already.

const CRC = new Uint32Array(256).map((_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

const LARGEST = 0xffffffff;
const UTF8 = 0x0800;

async function crc32(file) {
  let crc = 0xffffffff;
  const reader = file.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return (crc ^ 0xffffffff) >>> 0;
    for (const byte of value) crc = CRC[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  }
}

/** Relative names without ways out of the folder, each once. */
export function safeNames(names) {
  const taken = new Set();
  return names.map((name) => {
    const parts = name.split(/[/\\]/).filter((part) => part && part !== "." && part !== "..");
    const clean = parts.join("/").replace(/[\u0000-\u001f:*?"<>|]/g, "_") || "file";
    const dot = clean.lastIndexOf(".") > clean.lastIndexOf("/") + 1 ? clean.lastIndexOf(".") : clean.length;
    let unique = clean;
    for (let number = 2; taken.has(unique.toLowerCase()); number++) {
      unique = `${clean.slice(0, dot)} (${number})${clean.slice(dot)}`;
    }
    taken.add(unique.toLowerCase());
    return unique;
  });
}

/** The ZIP of `[{name, file}]` as a Blob that refers to the files instead of copying them. */
export async function zip(entries) {
  const names = safeNames(entries.map((entry) => entry.name));
  const total = entries.reduce((sum, entry) => sum + entry.file.size + 500, 0);
  if (total > LARGEST || entries.length > 65_000) {
    throw new Error("The accepted files are more than a ZIP of 4 GB can hold; use `facereject filter` on the folder.");
  }
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [k, { file }] of entries.entries()) {
    const name = new TextEncoder().encode(names[k]);
    const crc = await crc32(file);
    const time = new Date(file.lastModified ?? Date.now());
    const year = Math.min(Math.max(time.getFullYear() - 1980, 0), 127);
    const day = (year << 9) | ((time.getMonth() + 1) << 5) | time.getDate();
    const clock = (time.getHours() << 11) | (time.getMinutes() << 5) | (time.getSeconds() >> 1);
    const common = [[2, 20], [2, UTF8], [2, 0], [2, clock], [2, day], [4, crc], [4, file.size], [4, file.size], [2, name.length], [2, 0]];
    const head = record([[4, 0x04034b50], ...common]);
    parts.push(head, name, file);
    directory.push(record([[4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]]), name);
    offset += head.length + name.length + file.size;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const count = entries.length;
  parts.push(...directory, record([[4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, offset], [2, 0]]));
  return new Blob(parts, { type: "application/zip" });
}

function record(fields) {
  const bytes = new Uint8Array(fields.reduce((sum, [size]) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  let place = 0;
  for (const [size, value] of fields) {
    if (size === 2) view.setUint16(place, value, true);
    else view.setUint32(place, value, true);
    place += size;
  }
  return bytes;
}
