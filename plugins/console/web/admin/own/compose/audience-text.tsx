import { useQuery } from '@tanstack/react-query'
import { useLanguage } from '../../../app/app.tsx'
import { useApi } from '../../api/context.tsx'
import type { Label } from '../../api/labels.ts'
import { labels } from '../../api/operations.ts'
import classes from './compose.module.css'
import type { Audience } from './compose-types.ts'

/** Maximum number of names in one sentence. */
const maxNames = 20

/** Shows users by name. @param props.count number of all users, if `ids` contains only the first */
export function People({ ids, count = ids.length }: { readonly ids: readonly string[]; readonly count?: number }) {
  const { translate, language } = useLanguage()
  const api = useApi()
  const shown = ids.slice(0, maxNames)
  const names = useQuery({
    queryKey: ['labels', 'iam.user', { ids: shown }, language],
    queryFn: async ({ signal }) =>
      (await api.call<{ items: readonly Label[] }>(labels, { query: { kind: 'iam.user', ids: shown }, signal })).items,
    enabled: shown.length > 0,
    staleTime: 60_000,
    retry: false,
  })
  const list = new Intl.ListFormat(language, { type: 'conjunction' })
  const known = (names.data ?? []).map(({ name }) => name)
  const rest = count - known.length
  if (known.length === 0) return null
  return <>{list.format(rest > 0 ? [...known, translate('compose.more', { count: rest })] : known)}</>
}

/** Says in words who gets the message on a channel, and who does not. */
export function AudienceText({ of, isForAll }: { readonly of: Audience; readonly isForAll: boolean }) {
  const { translate } = useLanguage()
  if (!of.enabled) return <p className={classes.warn}>{translate('compose.audience.disabled')}</p>
  if (of.audience === 'fixed') return <p className={classes.who}>{translate('compose.audience.fixed')}</p>
  if (of.audience === 'none') return <p className={classes.warn}>{translate('compose.audience.none')}</p>
  if (isForAll) return <p className={classes.who}>{translate('compose.all-users')}</p>
  const missing = { mail: 'without-mail', sms: 'without-mobile' }[of.channel] ?? 'without-address'
  const isNobody = of.reached + of.withoutAddress + of.unwanted === 0
  return (
    <>
      <p className={of.reached === 0 && !isNobody ? classes.warn : classes.who}>
        {isNobody ? translate('compose.audience.nobody') : translate('compose.audience.people', { count: of.reached })}
      </p>
      {of.withoutAddress > 0 && (
        <p className={classes.warn}>
          {translate(`compose.audience.${missing as 'without-mail'}`, { count: of.withoutAddress })}{' '}
          <People ids={of.withoutAddressIds.map(String)} count={of.withoutAddress} />
        </p>
      )}
      {of.unwanted > 0 && (
        <p className={classes.warn}>{translate('compose.audience.unwanted', { count: of.unwanted })}</p>
      )}
      {of.quiet > 0 && <p className={classes.who}>{translate('compose.audience.quiet', { count: of.quiet })}</p>}
    </>
  )
}
