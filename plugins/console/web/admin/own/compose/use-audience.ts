import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/context.tsx'
import type { OwnPageView } from '../../api/page-types.ts'
import { type Audience, operationIds, operationOf } from './compose-types.ts'

/** Returns who gets a message to these users on each channel. */
export function useAudience(page: OwnPageView, channels: readonly string[], users: unknown) {
  const api = useApi()
  const recipientUserIds = Array.isArray(users) ? users.map(Number) : []
  return useQuery({
    queryKey: [operationIds.audience, channels, recipientUserIds],
    queryFn: ({ signal }) =>
      api.call<readonly Audience[]>(operationOf(page, 'audience'), { body: { channels, recipientUserIds }, signal }),
    enabled: channels.length > 0,
    placeholderData: (last) => last,
    retry: false,
  })
}
