import { currentVersion, id, instant, nullable, Type } from '@plinth/http'
import type { Static } from 'typebox'
import type { AppRow } from '../entities.ts'

export const appStatus = Type.Enum(['active', 'disabled'])

export const appView = Type.Object({
  id,
  appKey: Type.String(),
  name: Type.String(),
  description: nullable(Type.String()),
  scopes: Type.Array(Type.String()),
  rateLimitPerMinute: nullable(
    Type.Integer({
      description: 'Maximum calls per minute. Null: the default of the product. 0 or negative: unlimited.',
    }),
  ),
  status: appStatus,
  ownerUserId: nullable(id),
  previousSecretValidUntil: nullable(instant),
  version: currentVersion,
  createdAt: instant,
  updatedAt: instant,
})

export const appWithSecretView = Type.Object({
  ...appView.properties,
  secret: Type.String({
    description:
      'Secret of the application. Only this response contains it. Store it on a server, never in a browser or an app.',
  }),
})

export const scopeView = Type.Object({
  code: Type.String(),
  plugin: Type.String(),
  displayName: Type.String(),
  displayDescription: nullable(Type.String()),
})

/** @param now milliseconds since the epoch */
export function viewOfApp(app: AppRow, now: number): Static<typeof appView> {
  const { id, appKey, name, description, scopes, rateLimitPerMinute, status, ownerUserId, version } = app
  const until = app.previousValidUntil ?? null
  return {
    id,
    appKey,
    name,
    scopes,
    status,
    version,
    description: description ?? null,
    rateLimitPerMinute: rateLimitPerMinute ?? null,
    ownerUserId: ownerUserId ?? null,
    previousSecretValidUntil: until !== null && until.getTime() > now ? until.toISOString() : null,
    createdAt: app.createdAt.toISOString(),
    updatedAt: app.updatedAt.toISOString(),
  }
}
