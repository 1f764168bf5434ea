import { nullable, routesWith, Type } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import type { UserPreferences } from './user-preferences.ts'

const on = (description: string) => Type.Boolean({ description })
const switchFields = {
  databaseEnabled: on('Notifications in the inbox.'),
  websocketEnabled: on('Notifications on open pages in real time.'),
  emailEnabled: on('Notifications by e-mail.'),
  smsEnabled: on('Notifications by SMS.'),
  systemEnabled: Type.Boolean(),
  accountEnabled: Type.Boolean(),
  todoEnabled: Type.Boolean(),
  chatEnabled: Type.Boolean(),
  blogEnabled: Type.Boolean(),
  forumEnabled: Type.Boolean(),
  mallEnabled: Type.Boolean(),
  marketingEnabled: Type.Boolean(),
}

const timeOfDay = Type.String({
  pattern: '^(?:[01]\\d|2[0-3]):[0-5]\\d$',
  description: 'Hours and minutes, such as 22:00.',
})
const quietHours = nullable(
  Type.Object({
    timeZone: Type.String({ minLength: 1, maxLength: 64, description: 'IANA time zone, such as Asia/Shanghai.' }),
    start: timeOfDay,
    end: timeOfDay,
  }),
  {
    description:
      'Daily period in which messages wait, except critical ones and those in the inbox. If the end is before the start, the period spans midnight. Null: no quiet hours.',
  },
)

const readerFormat = {
  locale: nullable(Type.String({ minLength: 2, maxLength: 35 }), {
    description: 'Language of messages as BCP 47 tag, such as zh-CN. Null: the language of the site.',
  }),
  timeZone: nullable(Type.String({ minLength: 1, maxLength: 64 }), {
    description: 'IANA time zone of dates in messages, such as Asia/Shanghai. Null: the time zone of the site.',
  }),
}

const view = Type.Object({ ...switchFields, quietHours, ...readerFormat })
const changes = Type.Object({
  ...Object.fromEntries(Object.entries(switchFields).map(([name, schema]) => [name, Type.Optional(schema)])),
  quietHours: Type.Optional(quietHours),
  locale: Type.Optional(readerFormat.locale),
  timeZone: Type.Optional(readerFormat.timeZone),
})

const path = '/api/v1/notifications/preferences'
const { route } = routesWith<{ readonly preferences: UserPreferences }>()

/** Routes of a user's own preferences (document 2 of the specification, "Preferences"). */
export const preferenceRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'Get your notification preferences',
    access: 'user',
    response: view,
    reasons: [],
    handler: (request, { preferences }) => preferences.get(requirePrincipal(request).userId),
  }),
  route({
    method: 'PUT',
    path,
    summary: 'Change your notification preferences',
    description: 'Omitted fields do not change.',
    access: 'user',
    request: { body: changes },
    response: view,
    reasons: [
      'notification-inbox.locale-unknown',
      'notification-inbox.quiet-hours-empty',
      'notification-inbox.time-zone-unknown',
    ],
    handler: (request, { preferences }) => preferences.save(requirePrincipal(request).userId, request.body),
  }),
]
