/** IANA media types by file extension. */
const BY_EXTENSION: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  heic: "image/heic",
  heif: "image/heif",
  avif: "image/avif",
  bmp: "image/bmp",
  tif: "image/tiff",
  tiff: "image/tiff",
  svg: "image/svg+xml",
  wav: "audio/wav",
  mp3: "audio/mpeg",
  m4a: "audio/mp4",
  aac: "audio/aac",
  ogg: "audio/ogg",
  oga: "audio/ogg",
  opus: "audio/ogg",
  flac: "audio/flac",
  aif: "audio/aiff",
  aiff: "audio/aiff",
  weba: "audio/webm",
  webm: "video/webm",
  mp4: "video/mp4",
  mov: "video/quicktime",
  mpeg: "video/mpeg",
  mpg: "video/mpeg",
  pdf: "application/pdf",
  txt: "text/plain",
  log: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  html: "text/html",
  htm: "text/html",
  css: "text/css",
  js: "text/javascript",
  xml: "application/xml",
  json: "application/json",
  yaml: "application/yaml",
  yml: "application/yaml",
  rtf: "application/rtf",
  epub: "application/epub+zip",
  doc: "application/msword",
  xls: "application/vnd.ms-excel",
  ppt: "application/vnd.ms-powerpoint",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
};

/** Returns the first file extension of a media type; undefined if none is known. */
export function extensionFor(mediaType: string): string | undefined {
  return Object.keys(BY_EXTENSION).find((extension) => BY_EXTENSION[extension] === mediaType);
}

/** The texts at fixed offsets in every file of a type. */
interface Signature {
  readonly mediaType: string;
  /** Latin-1 texts by offset. */
  readonly marks: readonly (readonly [offset: number, text: string])[];
}

const SIGNATURES: readonly Signature[] = [
  { mediaType: "image/png", marks: [[0, "\x89PNG\r\n\x1a\n"]] },
  { mediaType: "image/jpeg", marks: [[0, "\xff\xd8\xff"]] },
  { mediaType: "image/gif", marks: [[0, "GIF87a"]] },
  { mediaType: "image/gif", marks: [[0, "GIF89a"]] },
  { mediaType: "image/webp", marks: riff("WEBP") },
  { mediaType: "image/heic", marks: [[4, "ftyphei"]] },
  { mediaType: "image/heic", marks: [[4, "ftyphev"]] },
  { mediaType: "image/heif", marks: [[4, "ftypmif1"]] },
  { mediaType: "image/heif", marks: [[4, "ftypmsf1"]] },
  { mediaType: "image/avif", marks: [[4, "ftypavif"]] },
  {
    mediaType: "image/bmp",
    marks: [
      [0, "BM"],
      [6, "\0\0\0\0"],
    ],
  },
  { mediaType: "image/tiff", marks: [[0, "II*\0"]] },
  { mediaType: "image/tiff", marks: [[0, "MM\0*"]] },
  { mediaType: "audio/wav", marks: riff("WAVE") },
  { mediaType: "audio/mpeg", marks: [[0, "ID3"]] },
  { mediaType: "audio/mp4", marks: [[4, "ftypM4A"]] },
  { mediaType: "video/quicktime", marks: [[4, "ftypqt"]] },
  { mediaType: "video/mp4", marks: [[4, "ftyp"]] },
  { mediaType: "audio/ogg", marks: [[0, "OggS"]] },
  { mediaType: "audio/flac", marks: [[0, "fLaC"]] },
  {
    mediaType: "audio/aiff",
    marks: [
      [0, "FORM"],
      [8, "AIFF"],
    ],
  },
  { mediaType: "video/webm", marks: [[0, "\x1aE\xdf\xa3"]] },
  { mediaType: "application/pdf", marks: [[0, "%PDF-"]] },
];

/** Returns the media type for the extension of a path or file name. Undefined for an unknown one. */
export function guessMediaType(path: string): string | undefined {
  const extension = /\.([a-z0-9]{1,5})$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension] : undefined;
}

/** Returns the media type by the first bytes of a file. Undefined for formats without a signature, such as text. */
export function detectMediaType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 16)).toString("latin1");
  const found = SIGNATURES.find(({ marks }) =>
    marks.every(([offset, mark]) => head.startsWith(mark, offset)),
  );
  return found?.mediaType ?? detectAudioFrame(bytes);
}

/** Reports whether a text is a media type: `type/subtype`, with or without parameters. */
export function isMediaType(text: string): boolean {
  return /^[\w!#$&^.+-]{1,64}\/[\w!#$&^.+-]{1,127}(\s*;\s*[\w!#$&^.+-]+=("[^"\\\r\n]*"|[\w!#$&^.+-]+))*$/.test(
    text,
  );
}

function riff(form: string): Signature["marks"] {
  return [
    [0, "RIFF"],
    [8, form],
  ];
}

/** Audio without a header begins with a frame: eleven set bits, then version and layer (ISO 11172-3, ISO 13818-7). */
function detectAudioFrame([first = 0, second = 0]: Uint8Array): string | undefined {
  if (first !== 0xff) return undefined;
  if ((second & 0xf6) === 0xf0) return "audio/aac";
  return (second & 0xe6) === 0xe2 ? "audio/mpeg" : undefined;
}
