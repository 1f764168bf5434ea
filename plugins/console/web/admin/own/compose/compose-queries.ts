import { useDebouncedValue } from '@mantine/hooks'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { CallFailure } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import type { OwnPageView } from '../../api/page-types.ts'
import { type Audience, operationIds, operationOf, type Preview, type Variables } from './compose-types.ts'

/** Returns who gets a message with these attributes to these users on each channel. */
export function useAudience(page: OwnPageView, channels: readonly string[], users: unknown, attributes: unknown) {
  const api = useApi()
  const { module } = Object(attributes) as { readonly module?: unknown }
  const body = {
    channels,
    recipientUserIds: Array.isArray(users) ? users.map(Number) : [],
    ...(typeof module === 'string' && { module }),
  }
  return useQuery({
    queryKey: [operationIds.audience, body],
    queryFn: ({ signal }) => api.call<readonly Audience[]>(operationOf(page, 'audience'), { body, signal }),
    enabled: channels.length > 0,
    placeholderData: (last) => last,
    retry: false,
  })
}

/** Milliseconds without input before a preview is requested. */
const pauseMs = 400

/** The texts of a message. Empty members are missing. */
export interface MessageTexts {
  readonly template?: string
  readonly subject?: string
  readonly content?: string
  readonly locale?: string
  readonly variables?: Readonly<Record<string, unknown>>
}

const passing = new Set<unknown>(['away', 'limited', 'signed-out', 'failed'])

/** True if another attempt can succeed without a change of the message. */
export const isPassing = (error: Error) => error instanceof CallFailure && passing.has(error.kind)

/** Joins variables of several texts. A variable is needed if one of the texts needs it. */
function joined(variables: Variables): Variables {
  const needed = new Map<string, boolean>()
  for (const { name, needed: isNeeded } of variables) needed.set(name, isNeeded || needed.get(name) === true)
  return [...needed].map(([name, isNeeded]) => ({ name, needed: isNeeded }))
}

/** Returns the message as it appears on each channel, and the variables of its template. */
export function usePreviews(page: OwnPageView, codes: readonly string[], texts: MessageTexts) {
  const api = useApi()
  const operation = operationOf(page, 'preview')
  const [settled] = useDebouncedValue(JSON.stringify(texts), pauseMs)
  const shown: MessageTexts = JSON.parse(settled)
  const isEmpty = shown.template === undefined && shown.subject === undefined && shown.content === undefined
  const previews = useQueries({
    queries: codes.map((channel) => ({
      queryKey: [operationIds.preview, channel, settled],
      queryFn: async ({ signal }: { signal: AbortSignal }) => ({
        ...(await api.call<Preview>(operation, { body: { channel, ...shown }, signal })),
        template: shown.template,
      }),
      enabled: !isEmpty,
      placeholderData: (last: (Preview & { readonly template: string | undefined }) | undefined) => last,
      gcTime: 60_000,
      retry: false,
    })),
  })
  // The variables of each template on each channel. They remain known if a later preview fails: otherwise their fields
  // would disappear, and the message would be sent without their values.
  const [known] = useState(() => new Map<string, Variables>())
  const variablesKey = (channel: string, template: string | undefined) => JSON.stringify([channel, template])
  for (const [index, { data }] of previews.entries())
    if (data !== undefined) known.set(variablesKey(codes[index] as string, data.template), data.variables)
  const current = codes.map((code) => known.get(variablesKey(code, texts.template)))
  return {
    isEmpty,
    previews: codes.map((channel, index) => ({
      channel,
      preview: previews[index]?.data,
      error: previews[index]?.error,
      retry: () => void previews[index]?.refetch(),
    })),
    /** Variables of the template on all channels. */
    variables: joined(current.flatMap((one) => one ?? [])),
    /** False until the variables of the chosen template are known. */
    isKnown:
      texts.template === undefined ||
      previews.every(({ error }, index) => current[index] !== undefined || (error !== null && !isPassing(error))),
  }
}
