// A table to make a study of: a file, a zip, or a folder with images or audio, which are sent one by one.
import { call, get } from "./api.js";
import { number } from "./dom.js";

const TABLE = /\.(csv|tsv|parquet|pq|xlsx|jsonl|ndjson|json)$/i;
const MEDIA = /\.(png|jpe?g|gif|webp|wav|mp3|ogg|oga|opus|m4a|flac)$/i;
const PICTURE = /\.(png|jpe?g|gif|webp)$/i;
const AT_ONCE = 3;

// The path inside the chosen folder.
const inside = (file) => (file.place ?? file.webkitRelativePath ?? "").split("/").slice(1).join("/") || file.name;
const quoted = (text) => `"${text.replaceAll('"', '""')}"`;

// A folder without a table: one row for each image or recording, with the folder that it is in.
function listed(files) {
  const rows = files.map(inside).sort().map((path) => [path, path.split("/").at(-2) ?? ""]);
  const folders = new Set(rows.map((row) => row[1])).size > 1;
  const pictures = files.filter((file) => PICTURE.test(file.name)).length;
  if (pictures && pictures < files.length) throw new Error("There are both images and recordings, and no table. Add a table that names them.");
  const lines = [[pictures ? "image" : "recording", ...(folders ? ["folder"] : [])], ...rows.map((row) => row.slice(0, folders ? 2 : 1))];
  return new File([lines.map((line) => line.map(quoted).join(",")).join("\n")], "files.csv");
}

// Send files; `tell` is told how far it is. Resolves to the description of the table.
export async function sendTable(files, tell) {
  const all = [...files].filter((file) => !file.name.startsWith("."));
  const media = all.filter((file) => MEDIA.test(file.name));
  const vectors = all.filter((file) => /\.npy$/i.test(file.name));
  const tables = all.length === 1 && !media.length ? all : all.filter((file) => TABLE.test(file.name));
  if (tables.length > 1) throw new Error(`These are ${tables.length} tables: ${tables.slice(0, 4).map((file) => file.name).join(", ")}. Choose a folder with one.`);
  if (!tables.length && !media.length) throw new Error("There is no table here, no image and no recording.");
  const table = tables[0] ?? listed(media);
  const described = await call("POST", `/tables?name=${encodeURIComponent(table.name)}`, table);
  const others = tables.length === 1 && all.length === 1 ? [] : [...vectors, ...media];
  let sent = 0;
  const next = others[Symbol.iterator]();
  const work = async () => {
    for (const file of next) {
      await call("PUT", `/tables/${described.id}/files?name=${encodeURIComponent(inside(file))}`, file);
      tell(`Sending: ${number(sent += 1)} of ${number(others.length)} files…`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return others.length ? { ...(await get(`/tables/${described.id}`)), file: table.name } : { ...described, file: table.name };
}

// What was dropped: files, or all files of folders.
export async function dropped(transfer) {
  const found = [];
  const walk = async (entry, path) => {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      found.push(Object.assign(file, { place: `${path}${file.name}` }));
    } else {
      const reader = entry.createReader();
      for (let part; (part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))).length;) for (const one of part) await walk(one, `${path}${entry.name}/`);
    }
  };
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return [...transfer.files];
  for (const entry of entries) await walk(entry, "");
  return found;
}
