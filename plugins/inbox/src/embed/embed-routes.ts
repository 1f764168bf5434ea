import { instant, rateLimited, routesWith, Type } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import type { InboxEmbedding } from '../contract.ts'

const { route } = routesWith<{ readonly embedding: InboxEmbedding }>()

export const embedRoutes = [
  route({
    method: 'POST',
    path: '/api/v1/notifications/inbox-tokens',
    compress: false,
    summary: 'Create a token for your embedded inbox',
    description:
      'The token is valid for 15 minutes and only for the operations of your inbox and of your notification preferences. It ends with your session and when your password changes. Send it in the header `Authorization: Bearer`.',
    access: 'user',
    annotations: [rateLimited({ maxAttempts: 60, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })],
    response: Type.Object({
      token: Type.String({ description: 'Only this response contains it.' }),
      expiresAt: instant,
    }),
    reasons: ['iam.user-unknown'],
    handler: (request, { embedding }) => {
      const { userId, sessionId } = requirePrincipal(request)
      return embedding.issueToken(userId, sessionId)
    },
  }),
]
