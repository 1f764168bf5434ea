import { raw } from '@mikro-orm/core'
import type { Database } from '@plinth/database'

/**
 * Condition for rows one of whose columns holds the text, in any case. A function instead of `like`, whose wild cards
 * and escapes differ between databases.
 */
export function holdsText(db: Pick<Database, 'dialect'>, columns: readonly string[], text: string): object {
  const find = db.dialect === 'postgresql' ? 'strpos' : 'instr'
  const folded = text.normalize('NFKC').toLowerCase()
  return {
    $or: columns.map((column) => ({
      [raw((alias) => `${find}(lower(coalesce(${alias}.${column}, '')), ?)`, [folded])]: { $gt: 0 },
    })),
  }
}
