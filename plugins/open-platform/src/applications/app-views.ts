import { instant, nullable, Type } from '@plinth/http'
import { App } from '../entities.ts'

const previousSecretValidUntil = App.computed(
  ['Previous secret valid until', '旧密钥有效期至'],
  nullable(instant),
  ({ previousValidUntil: until }, { now }) => (until !== null && until > now ? until.toISOString() : null),
)

/** The JSON of an application, without its secrets. */
export const appJson = App.shape({
  members: { previousSecretValidUntil },
  only: [
    'id',
    'appKey',
    'name',
    'description',
    'scopes',
    'rateLimitPerMinute',
    'status',
    'ownerUserId',
    'previousSecretValidUntil',
    'version',
    'createdAt',
    'updatedAt',
  ],
})

export const appWithSecretView = Type.Object({
  ...appJson.schemas.view.properties,
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
