import { digestOf, keyOf, keyText, partOf, readRows, rowHash, type StoredRow } from './stored-rows.ts'
import type { StoredDatabase, StoredTable } from './stored-tables.ts'

/** Rows of a table that differ between source and target. */
export interface RowDifference {
  readonly table: string
  /** `lost`: only in the source. `extra`: only in the target. `changed`: different values for one key. */
  readonly kind: 'lost' | 'extra' | 'changed'
  /** Number of rows. If many parts of a table differ, not all are counted. */
  readonly rows: number
  /** Keys of the first and of the last of these rows. */
  readonly from: string
  readonly to: string
}

/** A table whose rows are equal in both databases. */
export interface ProvenTable {
  readonly table: string
  readonly rows: number
  /** Sum modulo 2^256 of the SHA-256 of all rows, as 64 hexadecimal digits. */
  readonly sum: string
}

interface ProofOptions {
  readonly signal: AbortSignal
  onRows(count: number): void
}

/** Typical number of rows of a part. The rows of a part that differs are read again. */
const rowsPerPart = 500
const maxParts = 4_096
/** Maximum number of parts whose rows are compared one by one. */
const maxComparedParts = 20

/** Reads a table in both databases and compares all rows. */
export async function proveTable(
  source: StoredDatabase,
  target: StoredDatabase,
  table: StoredTable,
  rows: number,
  { signal, onRows }: ProofOptions,
): Promise<{ readonly proven: ProvenTable } | { readonly differences: readonly RowDifference[] }> {
  const parts = Math.min(maxParts, Math.max(1, Math.ceil(rows / rowsPerPart)))
  const [expected, found] = await Promise.all([
    digestOf(source, table, { parts, signal, onRows }),
    digestOf(target, table, { parts, signal, onRows: () => {} }),
  ])
  const wrong = expected.parts.flatMap((sum, part) => (sum === found.parts[part] ? [] : [part]))
  if (wrong.length === 0 && expected.rows === found.rows) {
    return { proven: { table: table.table, rows: found.rows, sum: found.sum.toString(16).padStart(64, '0') } }
  }
  const compared = new Set(wrong.slice(0, maxComparedParts))
  const isCompared = (row: StoredRow) => parts === 1 || compared.has(partOf(row, table, parts))
  return { differences: await findDifferences(source, target, table, isCompared, signal) }
}

async function findDifferences(
  source: StoredDatabase,
  target: StoredDatabase,
  table: StoredTable,
  isCompared: (row: StoredRow) => boolean,
  signal: AbortSignal,
): Promise<readonly RowDifference[]> {
  const read = async (database: StoredDatabase) => {
    const hashes = new Map<string, bigint>()
    for await (const page of readRows(database, table, { signal })) {
      for (const row of page) if (isCompared(row)) hashes.set(keyText(keyOf(row, table), table), rowHash(row, table))
    }
    return hashes
  }
  const [expected, found] = [await read(source), await read(target)]
  const difference = (kind: RowDifference['kind'], keys: readonly string[]): readonly RowDifference[] => {
    const [from, to] = [keys[0], keys.at(-1)]
    return from === undefined || to === undefined ? [] : [{ table: table.table, kind, rows: keys.length, from, to }]
  }
  const keys = [...expected.keys()]
  return [
    ...difference(
      'lost',
      keys.filter((key) => !found.has(key)),
    ),
    ...difference(
      'changed',
      keys.filter((key) => found.has(key) && found.get(key) !== expected.get(key)),
    ),
    ...difference(
      'extra',
      [...found.keys()].filter((key) => !expected.has(key)),
    ),
  ]
}

/** Returns a difference as text for operators. */
export const differenceText = ({ table, kind, rows, from, to }: RowDifference): string =>
  `${table}: ${rows} ${kind}, ${from}${from === to ? '' : ` to ${to}`}`
