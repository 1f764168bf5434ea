import { type Database, exactInteger } from '@plinth/database'
import type { Finding } from './account-check.ts'

/** Journals of one look. */
const page = 500

/** Ids of the ends of a page, and how many lie between. */
interface JournalPage {
  readonly first: number
  readonly last: number
  readonly count: number
}

/** The next page of journals; undefined when none follows. */
export async function nextJournals(db: Database, after: number): Promise<JournalPage | undefined> {
  const rows = await db.query<{ id: unknown }>(`select id from money_journal where id > ? order by id limit ${page}`, [
    after,
  ])
  const [first, last] = [rows[0], rows.at(-1)]
  if (first === undefined || last === undefined) return undefined
  return { first: exactInteger(first.id), last: exactInteger(last.id), count: rows.length }
}

/** Journals whose entries do not sum to zero, and those without one. */
export async function unbalancedJournals(db: Database, after: number, last: number): Promise<readonly Finding[]> {
  const rows = await db.query<Record<string, unknown>>(
    `select j.id, count(e.id) as entries, coalesce(sum(e.d_available + e.d_frozen), 0) as total
     from money_journal j left join money_entry e on e.journal_id = j.id
     where j.id > ? and j.id <= ? group by j.id
     having count(e.id) = 0 or coalesce(sum(e.d_available + e.d_frozen), 0) <> 0`,
    [after, last],
  )
  return rows.map((row) => {
    const isEmpty = exactInteger(row['entries']) === 0
    return {
      rule: isEmpty ? 'journal-empty' : 'journal-balance',
      accountId: null,
      journalId: exactInteger(row['id']),
      expected: isEmpty ? 1 : 0,
      found: isEmpty ? 0 : exactInteger(row['total']),
    }
  })
}
