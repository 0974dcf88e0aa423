// What is dropped or chosen: files, and folders with all they hold.

const VIDEO = /\.(mp4|m4v|mov|mkv|webm|avi|mpg|mpeg|m2v|mts|m2ts|vob|wmv|asf|flv|f4v|3gp|3g2|ogv|mxf|y4m)$/i;
const IMAGE = /\.(jpe?g|jpe|jfif|mpo|jp2|j2k|bmp|dib|tiff?|p[gpnb]m|tga|hei[cf]|hif|gif|webp|a?png|avif)$/i;

/** Files of a drop, folders with all they hold; of folders only what looks like an image or a video. */
export async function filesOf(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, name: file.name }));
  const found = [];
  for (const entry of entries) await walk(entry, "", found, false);
  return found;
}

async function walk(entry, folder, found, inside) {
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed)).catch(() => null);
    if (file && (!inside || looksRight(file))) found.push({ file, name: folder + file.name });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((done) => reader.readEntries(done, () => done([])));
    if (!some.length) return;
    for (const each of some) if (!each.name.startsWith(".")) await walk(each, `${folder}${entry.name}/`, found, true);
  }
}

/** Whether its name is that of an image or a video. */
export const looksRight = (file) => IMAGE.test(file.name) || VIDEO.test(file.name);

/** Whether it is a video by name or type; of what moves otherwise, the server says so. */
export const isVideo = (file) => VIDEO.test(file.name) || file.type.startsWith("video/");
