import { useQuery } from '@tanstack/react-query'
import { useLanguage } from '../../../app/app.tsx'
import { useApi } from '../../api/context.tsx'
import type { Label } from '../../api/labels.ts'
import { labels } from '../../api/operations.ts'

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
