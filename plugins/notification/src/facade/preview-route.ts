import { nullable, rateLimited, routesWith, Type, text } from '@plinth/http'
import { own } from '../permissions.ts'
import type { Rendering } from '../rendering.ts'
import { compose } from './channel-notification.ts'
import type { Outgoing } from './outgoing.ts'
import { messageTexts } from './send-routes.ts'

interface PreviewParts {
  readonly outgoing: Pick<Outgoing, 'requireChannel' | 'administratorsChannel'>
  readonly rendering: Rendering
}

const { route } = routesWith<PreviewParts>()

/** What a message would look like (decision B35). */
export const previewRoutes = [
  route({
    method: 'POST',
    path: '/api/v1/notifications/template-preview',
    legacyPath: true,
    summary: 'What a channel would get of a message; sends nothing and logs nothing',
    access: { permission: own.messageSend, scope: 'none' },
    annotations: [rateLimited({ maxAttempts: 120, windowSeconds: 60 })],
    request: {
      body: Type.Object({
        channel: Type.Optional(
          Type.String({ minLength: 1, maxLength: 64, description: 'Channel code; absent: as for sending' }),
        ),
        ...messageTexts,
      }),
    },
    response: Type.Object({
      subject: text,
      content: text,
      html: nullable(text),
      missingVariables: Type.Array(text, { description: 'What the template needs and the message does not have.' }),
    }),
    async handler({ body: { channel, ...draft } }, { outgoing, rendering }) {
      const code = (channel ?? outgoing.administratorsChannel).trim().toLowerCase()
      const { traits } = outgoing.requireChannel(code, 'channel')
      const preview = await rendering.preview(compose(draft), code, traits)
      return { ...preview, missingVariables: [...preview.missingVariables] }
    },
  }),
]
