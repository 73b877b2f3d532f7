/** Reads the server's binary columns as typed arrays, without looking at each number. */
export interface About {
  run?: string;
  key: string;
  seq?: number;
  points: number;
  /** Bits of what was met: 1 NaN, 2 +Inf, 4 -Inf. */
  marks?: number;
  /** For grouped lines: the value that the runs share, and which they are. */
  group?: unknown;
  runs?: string[];
}

export interface ColumnTable {
  about: About;
  columns: Record<string, Float64Array | Uint32Array | Uint8Array>;
}

interface Head {
  tables: { about: About; columns: { name: string; type: "f8" | "u4" | "u1"; at: number; count: number }[] }[];
}

const TYPES = { f8: Float64Array, u4: Uint32Array, u1: Uint8Array };

export function decodeTables(data: ArrayBuffer): ColumnTable[] {
  const length = new DataView(data).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as Head;
  const start = 4 + length;
  return head.tables.map(({ about, columns }) => ({
    about,
    columns: Object.fromEntries(
      columns.map(({ name, type, at, count }) => [name, new TYPES[type](data, start + at, count)]),
    ),
  }));
}
