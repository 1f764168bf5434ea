import { Link } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import { Notice } from '../../../app/notice.tsx'
import type { FailedRow } from '../forms/write-outcome.ts'
import './texts.ts'

/** The rows that an action on several rows left unchanged. */
export interface BulkFailures {
  readonly done: number
  readonly failed: readonly FailedRow[]
  /** Names of the rows by key. */
  readonly names: ReadonlyMap<string, string>
}

interface BulkFailuresProps extends BulkFailures {
  /** Page of one row, if the list has one. */
  readonly detail: string | undefined
  /** True if the rows are still selected. */
  readonly areSelected: boolean
}

/** Lists the failed rows with their reason. It is the default export, because `lazy` loads it. */
export default function BulkFailureList({ done, failed, names, detail, areSelected }: BulkFailuresProps) {
  const { translate } = useLanguage()
  return (
    <Notice tone="bad" title={translate('work.rows-done', { done, failed: failed.length })}>
      <ul>
        {failed.map(({ id, reason }) => {
          const name = names.get(id) ?? id
          return (
            <li key={id}>
              {detail === undefined ? name : <Link href={`/${detail}/${encodeURIComponent(id)}`}>{name}</Link>}:{' '}
              {reason}
            </li>
          )
        })}
      </ul>
      {areSelected && <p>{translate('work.still-selected')}</p>}
    </Notice>
  )
}
