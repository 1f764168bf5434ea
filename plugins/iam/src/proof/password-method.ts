import type { Database } from '@plinth/database'
import { User } from '../entities.ts'
import type { ProofMethod } from './contract.ts'

/** Proof by the password of the account. */
export const passwordMethod = (db: Pick<Database, 'fork'>): ProofMethod => ({
  strength: 'knowledge',
  isAvailable: async (userId) => (await db.fork().count(User, { id: userId, passwordHash: { $ne: null } })) > 0,
})
