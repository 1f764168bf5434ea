import { raw } from '@mikro-orm/core'
import type { Database } from '@plinth/database'

/** Condition for rows one of whose columns, JSON included, holds the text in any case; without the wild cards of `like`. */
export function holdsText({ dialect }: Pick<Database, 'dialect'>, columns: readonly string[], text: string): object {
  const find = dialect === 'postgresql' ? 'strpos' : 'instr'
  const type = dialect === 'mysql' || dialect === 'mariadb' ? 'char' : 'text'
  return {
    $or: columns.map((column) => ({
      [raw((alias) => `${find}(lower(cast(${alias}.${column} as ${type})), ?)`, [text.toLowerCase()])]: { $gt: 0 },
    })),
  }
}
