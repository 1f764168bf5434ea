import { LockMode } from '@mikro-orm/core'
import type { Database } from '@plinth/database'

/** Options of a read that keeps its rows as they are until the transaction ends; on SQLite nobody else writes meanwhile. */
export const rowLock = ({ dialect }: Pick<Database, 'dialect'>) =>
  dialect === 'sqlite' ? {} : ({ lockMode: LockMode.PESSIMISTIC_WRITE } as const)
