import { id, instant, nullable, Type } from '@plinth/http'
import type { Static } from 'typebox'
import { dataScopeSchema } from '../accounts/views.ts'
import type { ApiTokens } from './api-tokens.ts'
import type { ApiTokenRow } from './entities.ts'

const facts = {
  id,
  name: Type.String(),
  firstCharacters: Type.String({ description: 'First characters of the token after `plinthpat_`.' }),
  permissions: Type.Array(Type.String(), {
    description:
      'Permissions of the token. Those that its owner does not have at the time of a request have no effect.',
  }),
  dataScope: dataScopeSchema,
  createdAt: instant,
  expiresAt: instant,
  lastUsedAt: nullable(instant, { description: 'Time of the last request with the token, to the minute.' }),
  lastUsedNetwork: nullable(Type.String({ description: 'Network of the client of the last request.' })),
}

export const apiTokenView = Type.Object(facts)
export const ownedApiTokenView = Type.Object({ ...facts, userId: id })
export const createdApiTokenView = Type.Object({
  ...facts,
  token: Type.String({
    description: 'The token, for the header `Authorization: Bearer`. Only this response contains it.',
  }),
})

/** Returns the response objects of tokens, with the end that applies now. */
export const viewOfApiToken =
  (tokens: Pick<ApiTokens, 'endOf'>) =>
  (row: ApiTokenRow): Static<typeof apiTokenView> => ({
    id: row.id,
    name: row.name,
    firstCharacters: row.firstCharacters,
    permissions: row.permissions,
    dataScope: row.dataScope,
    createdAt: row.createdAt.toISOString(),
    expiresAt: new Date(tokens.endOf(row)).toISOString(),
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    lastUsedNetwork: row.lastUsedNetwork ?? null,
  })

/** Like `viewOfApiToken`, with the owner. */
export const viewOfOwnedApiToken =
  (tokens: Pick<ApiTokens, 'endOf'>) =>
  (row: ApiTokenRow): Static<typeof ownedApiTokenView> => ({ ...viewOfApiToken(tokens)(row), userId: row.userId })
