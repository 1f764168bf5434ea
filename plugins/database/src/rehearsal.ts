import type { Database } from './contract.ts'

/**
 * Runs the work in a transaction and rolls it back, to show what it would do. Must not be called inside a transaction.
 *
 * @returns the result of the work
 * @throws the errors of the work and of `Database.transactional`
 */
export async function rehearse<T>(db: Pick<Database, 'transactional'>, work: () => Promise<T>): Promise<T> {
  let results: readonly T[] = []
  const rollBack = new Error('A rehearsal is rolled back')
  await db
    .transactional(async () => {
      results = [await work()]
      throw rollBack
    })
    .catch((error: unknown) => {
      if (error !== rollBack) throw error
    })
  const [result] = results
  return result as T
}
